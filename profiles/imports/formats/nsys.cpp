#include "profiles/imports/formats/formats.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <unordered_map>

#include "base/files/used_files.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/kernel_names.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {
namespace {

constexpr std::size_t kMostEvents = 20'000'000;                       // against files that would fill the memory: they take 3 GB
constexpr std::int64_t kMostNanoseconds = 3'000'000'000'000'000'000;  // differences stay within 64 bits

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

// A database that is read only, and not trusted: no view, trigger or function of the file's own making runs.
class Database {
 public:
  explicit Database(const std::filesystem::path& file);
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] Statement prepare(const std::string& sql) const;
  // Steps to the next row. Throws: base::InputError when the file turns out to be damaged.
  [[nodiscard]] bool next(const Statement& s) const;
  // Columns of a table, empty when there is no such table.
  [[nodiscard]] std::set<std::string> columns(const std::string& table) const;

 private:
  void check_length() const;

  std::string file_;
  std::unique_ptr<sqlite3, Close> db_;
};

Database::Database(const std::filesystem::path& file) : file_(file.string()) {
  base::note_input(file);
  check_length();
  // A path in a URI: what has a meaning there is written as %XX.
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string())
    uri += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_'
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  sqlite3* db = nullptr;
  const int status = sqlite3_open_v2((uri + "?immutable=1").c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  db_.reset(db);
  if (status != SQLITE_OK) refuse(file_, fmt::format("cannot be opened as a database: {}", sqlite3_errstr(status)));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
  (void)next(prepare("PRAGMA cell_size_check = ON"));
}

// The header has the number of pages; SQLite itself notices a missing page only when it comes to it.
void Database::check_length() const {
  std::ifstream in(file_, std::ios::binary);
  unsigned char header[100] = {};
  in.read(reinterpret_cast<char*>(header), sizeof header);
  if (in.gcount() < static_cast<std::streamsize>(sizeof header)) refuse(file_, "is cut short: a database begins with 100 bytes of header");
  if (std::string_view(reinterpret_cast<const char*>(header), 15) != "SQLite format 3") refuse(file_, "is compressed: unpack it first");
  const auto number = [&](int at, int bytes) {
    std::uint64_t n = 0;
    for (int i = 0; i < bytes; ++i) n = n << 8 | header[at + i];
    return n;
  };
  const std::uint64_t page = number(16, 2) == 1 ? 65536 : number(16, 2), pages = number(28, 4);
  const std::uint64_t size = std::filesystem::file_size(file_);
  if (number(24, 4) == number(92, 4) && pages * page > size)  // the count is valid only when the two change counters agree
    refuse(file_, fmt::format("is cut short: {} of {} bytes are there", size, pages * page));
}

Statement Database::prepare(const std::string& sql) const {
  sqlite3_stmt* s = nullptr;
  const int status = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &s, nullptr);
  if (status != SQLITE_OK) refuse(file_, fmt::format("is no sound database: {}", sqlite3_errmsg(db_.get())));
  return Statement(s);
}

bool Database::next(const Statement& s) const {
  const int status = sqlite3_step(s.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) refuse(file_, fmt::format("is no sound database: {}", sqlite3_errmsg(db_.get())));
  return status == SQLITE_ROW;
}

std::set<std::string> Database::columns(const std::string& table) const {
  std::set<std::string> names;
  const Statement real =
      prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + table + "' AND sql NOT LIKE 'CREATE VIRTUAL%'");
  if (!next(real)) return names;
  const Statement s = prepare("PRAGMA table_info(" + table + ")");
  while (next(s))
    if (const auto* text = sqlite3_column_text(s.get(), 1)) names.insert(reinterpret_cast<const char*>(text));
  return names;
}

std::string text_at(const Statement& s, int column) {
  const auto* text = sqlite3_column_text(s.get(), column);
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

// SELECT of the wanted columns; one that the table lacks reads as NULL.
std::string select(const std::string& table, const std::set<std::string>& there, std::initializer_list<const char*> wanted) {
  std::string sql = "SELECT ";
  for (const char* column : wanted)
    sql += (sql.size() > 7 ? ", " : "") + (there.contains(column) ? "\"" + std::string(column) + "\"" : "NULL");
  return sql + " FROM " + table;
}

class NsysReader {
 public:
  explicit NsysReader(const Database& db) : db_(&db) {
    trace_.format = TraceFormat::nsight_systems;
    trace_.file = db.file();
  }
  ImportedTrace read();

 private:
  struct Moment {
    std::int64_t start = 0, end = 0;
  };
  [[nodiscard]] Moment moment(const Statement& s, const std::string& table) const;
  void read_strings();
  void read_launches();
  void read_kernels();
  void read_moves(const std::string& table, bool copies);
  void read_ranges();
  void read_devices();
  void shift_to_origin();
  [[nodiscard]] std::string string_of(const Statement& s, int column) const;
  [[nodiscard]] std::optional<base::Seconds> launched(const Statement& s, int process, int correlation);
  void limit() const {
    if (trace_.kernels.size() + trace_.collectives.size() > kMostEvents)
      refuse(db_->file(), fmt::format("has more than {} device events", kMostEvents));
  }
  [[nodiscard]] base::Seconds since_origin(std::int64_t t) {
    if (!origin_) origin_ = t;  // any moment will do until shift_to_origin
    return base::Seconds(static_cast<double>(t - *origin_) * 1e-9);
  }

  const Database* db_;
  ImportedTrace trace_;
  std::optional<std::int64_t> origin_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> launches_;  // by process and correlation: when the host began
  std::size_t ranges_ = 0;
  bool exported_ = false;
};

NsysReader::Moment NsysReader::moment(const Statement& s, const std::string& table) const {
  const Moment m{sqlite3_column_int64(s.get(), 0), sqlite3_column_int64(s.get(), 1)};
  const bool timed = sqlite3_column_type(s.get(), 0) == SQLITE_INTEGER && sqlite3_column_type(s.get(), 1) == SQLITE_INTEGER;
  const bool sane = std::abs(m.start / 2) < kMostNanoseconds / 2 && std::abs(m.end / 2) < kMostNanoseconds / 2;
  if (!timed || !sane) refuse(db_->file(), fmt::format("{}: an event has no start and end in nanoseconds", table));
  if (m.end < m.start) refuse(db_->file(), fmt::format("{}: an event ends at {} ns, before it starts at {} ns", table, m.end, m.start));
  return m;
}

void NsysReader::read_strings() {
  const auto columns = db_->columns("StringIds");
  if (!columns.contains("id") || !columns.contains("value")) return;
  for (const Statement s = db_->prepare("SELECT id, value FROM StringIds"); db_->next(s);)
    strings_.emplace(sqlite3_column_int64(s.get(), 0), text_at(s, 1));
}

// A string's number, or in some versions the string itself.
std::string NsysReader::string_of(const Statement& s, int column) const {
  if (sqlite3_column_type(s.get(), column) != SQLITE_INTEGER) return text_at(s, column);
  const auto at = strings_.find(sqlite3_column_int64(s.get(), column));
  return at == strings_.end() ? std::string() : at->second;
}

// globalPid and globalTid have the process in the same bits.
std::int64_t process_of(std::int64_t global) { return global / 0x1000000 % 0x1000000; }

void NsysReader::read_launches() {
  const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
  const auto columns = db_->columns(table);
  if (!columns.contains("start") || !columns.contains("correlationId")) return;
  for (const Statement s = db_->prepare(select(table, columns, {"start", "globalTid", "correlationId"})); db_->next(s);)
    launches_.try_emplace({process_of(sqlite3_column_int64(s.get(), 1)), sqlite3_column_int64(s.get(), 2)},
                          sqlite3_column_int64(s.get(), 0));
}

std::optional<base::Seconds> NsysReader::launched(const Statement& s, int process, int correlation) {
  const auto at = launches_.find({process_of(sqlite3_column_int64(s.get(), process)), sqlite3_column_int64(s.get(), correlation)});
  const bool known = at != launches_.end() && std::abs(at->second / 2) < kMostNanoseconds / 2;
  return known ? std::optional(since_origin(at->second)) : std::nullopt;
}

void NsysReader::read_kernels() {
  const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
  const auto columns = db_->columns(table);
  if (columns.empty()) return;
  exported_ = true;
  for (const Statement s = db_->prepare(
           select(table, columns,
                  {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "demangledName", "shortName", "mangledName"}));
       db_->next(s);) {
    const Moment m = moment(s, table);
    std::string name = string_of(s, 6);
    for (const int other : {7, 8})
      if (name.empty()) name = string_of(s, other);
    const int device = sqlite3_column_int(s.get(), 2);
    const std::int64_t stream = sqlite3_column_int64(s.get(), 3);
    const base::Seconds start = since_origin(m.start), duration(static_cast<double>(m.end - m.start) * 1e-9);
    if (is_collective_kernel(name)) {
      ImportedCollective c{.name = trace_.names.id(name),
                           .kind = collective_in(name),
                           .device = device,
                           .stream = stream,
                           .start = start,
                           .duration = duration,
                           .launched = launched(s, 4, 5)};
      trace_.collectives.push_back(std::move(c));
    } else {
      trace_.kernels.push_back({.name = trace_.names.id(name),
                                .kind = kernel_kind(name),
                                .precision = kernel_precision(name),
                                .device = device,
                                .stream = stream,
                                .start = start,
                                .duration = duration,
                                .launched = launched(s, 4, 5)});
    }
    limit();
  }
}

std::string_view copy_name(std::int64_t kind) {  // CUpti_ActivityMemcpyKind
  switch (kind) {
    case 1: return "Memcpy HtoD";
    case 2: return "Memcpy DtoH";
    case 8: return "Memcpy DtoD";
    case 10: return "Memcpy PtoP";
    default: return "Memcpy";
  }
}

void NsysReader::read_moves(const std::string& table, bool copies) {
  const auto columns = db_->columns(table);
  if (columns.empty()) return;
  exported_ = true;
  for (const Statement s = db_->prepare(select(table, columns, {"start", "end", "deviceId", "streamId", "bytes", "copyKind"}));
       db_->next(s);) {
    const Moment m = moment(s, table);
    const std::int64_t bytes = sqlite3_column_int64(s.get(), 4);
    if (bytes < 0) refuse(db_->file(), fmt::format("{}: an event moves {} bytes", table, bytes));
    const std::string name(copies ? copy_name(sqlite3_column_int64(s.get(), 5)) : "Memset");
    trace_.kernels.push_back({.name = trace_.names.id(name),
                              .kind = pcg::KernelKind::copy,
                              .device = sqlite3_column_int(s.get(), 2),
                              .stream = sqlite3_column_int64(s.get(), 3),
                              .start = since_origin(m.start),
                              .duration = base::Seconds(static_cast<double>(m.end - m.start) * 1e-9),
                              .moved = base::Bytes(static_cast<double>(bytes))});
    limit();
  }
}

// Ranges that number iterations: "ProfilerStep#3", "iteration 12", "train_step: 4", "step_7".
void NsysReader::read_ranges() {
  const auto columns = db_->columns("NVTX_EVENTS");
  if (!columns.contains("start") || !columns.contains("end")) return;
  exported_ = true;
  static const std::regex iteration(R"((ProfilerStep|(train(ing)?[ _-]?)?(iteration|iter|step|batch))[ _:#=-]*[0-9]+)", std::regex::icase);
  const std::string sql = select("NVTX_EVENTS", columns, {"start", "end", "text", "textId"}) + " WHERE \"end\" IS NOT NULL";
  for (const Statement s = db_->prepare(sql); db_->next(s);) {
    std::string text = text_at(s, 2);
    if (text.empty()) text = string_of(s, 3);
    ++ranges_;
    if (text.size() > 64 || !std::regex_match(text, iteration)) continue;
    const Moment m = moment(s, "NVTX_EVENTS");
    trace_.iterations.push_back({text, since_origin(m.start), base::Seconds(static_cast<double>(m.end - m.start) * 1e-9), std::nullopt});
    if (trace_.iterations.size() > kMostEvents) refuse(db_->file(), "has too many NVTX ranges");
  }
}

void NsysReader::read_devices() {
  const auto columns = db_->columns("TARGET_INFO_GPU");
  if (columns.contains("id")) {
    exported_ = true;
    for (const Statement s = db_->prepare(select("TARGET_INFO_GPU", columns, {"id", "name", "totalMemory"})); db_->next(s);)
      trace_.devices.push_back({.id = sqlite3_column_int(s.get(), 0),
                                .name = text_at(s, 1),
                                .memory = base::Bytes(std::max(0.0, static_cast<double>(sqlite3_column_int64(s.get(), 2))))});
  }
  std::set<int> used;
  for (const ImportedKernel& k : trace_.kernels) used.insert(k.device);
  for (const ImportedCollective& c : trace_.collectives) used.insert(c.device);
  std::erase_if(trace_.devices, [&](const ImportedDevice& d) { return !used.contains(d.id); });
  for (const int id : used)
    if (std::ranges::find(trace_.devices, id, &ImportedDevice::id) == trace_.devices.end()) trace_.devices.push_back({.id = id});
  std::ranges::sort(trace_.devices, {}, &ImportedDevice::id);
}

// Starts count from the first event.
void NsysReader::shift_to_origin() {
  base::Seconds first;
  const auto look = [&](const auto& items) {
    for (const auto& i : items) first = std::min(first, *i.start);
  };
  const auto shift = [&](auto& items) {
    for (auto& i : items) {
      *i.start -= first;
      if constexpr (requires { i.launched; })
        if (i.launched) *i.launched -= first;
    }
  };
  look(trace_.kernels), look(trace_.collectives), look(trace_.iterations);
  shift(trace_.kernels), shift(trace_.collectives), shift(trace_.iterations);
}

ImportedTrace NsysReader::read() {
  read_strings();
  read_launches();
  read_kernels();
  read_moves("CUPTI_ACTIVITY_KIND_MEMCPY", true);
  read_moves("CUPTI_ACTIVITY_KIND_MEMSET", false);
  read_ranges();
  read_devices();
  if (!exported_)
    refuse(db_->file(), "is a database, but none that Nsight Systems exported: it has neither CUPTI activities nor NVTX events",
           "write one with: nsys export --type sqlite REPORT.nsys-rep");
  shift_to_origin();
  if (ranges_ > 0 && trace_.iterations.empty())
    trace_.notes.push_back(
        fmt::format("none of {} NVTX ranges numbers an iteration (\"iteration 3\", \"step_3\"): iterations are unknown", ranges_));
  if (!trace_.kernels.empty()) trace_.notes.emplace_back("Nsight Systems does not record shapes: kernels have names and times only");
  finish_trace(trace_);
  return std::move(trace_);
}

}  // namespace

ImportedTrace read_nsys(const std::filesystem::path& file) {
  const Database db(file);
  return NsysReader(db).read();
}

}  // namespace imports
