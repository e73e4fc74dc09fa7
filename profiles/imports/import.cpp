#include "profiles/imports/import.hpp"

#include <string_view>

#include "profiles/imports/formats/formats.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/sources/json_source.hpp"

namespace imports {
namespace {

constexpr std::size_t kHead = 64 * 1024;                      // what ByteSource lets one peek at: a format shows itself well within it
constexpr std::size_t kLongestTable = std::size_t{64} << 20;  // nccl-tests writes some kB
constexpr const char* kKnown =
    "known are Kineto / Chrome traces (.json, .json.gz), Nsight Systems SQLite exports, nccl-tests output (text, JSON), Chakra traces "
    "(.et); and of topologies nvidia-smi topo -m, rocm-smi --showtopo, NCCL's XML, Slurm's topology.conf, .yaml";

// Which of our JSON formats it is, from the keys of the document, without reading more than is needed.
enum class JsonForm { trace, collected, nccl_tests, other };

class FormFinder final : public JsonHandler {
 public:
  explicit FormFinder(const std::string& file) : file_(&file) {}
  [[nodiscard]] JsonForm form() const { return form_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ > 1 || found(JsonForm::trace); }  // a bare list can only be of events
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& k) override {
    if (depth_ != 1) return true;
    if (k == "traceEvents") return found(JsonForm::trace);
    if (k == "foreshard_collect") return found(JsonForm::collected);
    return k == "nccl_version" ? found(JsonForm::nccl_tests) : true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override { refuse_json(*file_, e); }

 private:
  bool found(JsonForm f) {
    form_ = f;
    return false;  // enough was seen
  }

  const std::string* file_;
  JsonForm form_ = JsonForm::other;
  int depth_ = 0;
};

JsonForm json_form(const std::filesystem::path& file) {
  ByteSource bytes(file);
  const std::string name = bytes.name();
  FormFinder finder(name);
  (void)parse_json_events(bytes, finder);
  return finder.form();
}

ImportedTrace import_json(const std::filesystem::path& file) {
  const JsonForm form = json_form(file);
  ByteSource bytes(file);
  const std::string name = bytes.name();
  switch (form) {
    case JsonForm::trace: return read_kineto(bytes);
    case JsonForm::collected: refuse(name, "is the collector's", "tools/collector/tables.py makes tables of it");
    case JsonForm::nccl_tests: return read_nccl_tests_json(parse_json_document(bytes), name);
    case JsonForm::other: break;
  }
  refuse(name, "is JSON, but no measurement that is known: it has neither traceEvents nor nccl_version", kKnown);
}

}  // namespace

ImportedTrace import_trace(const std::filesystem::path& file) {
  ByteSource bytes(file);
  const std::string head = bytes.peek(kHead);
  if (head.empty()) refuse(bytes.name(), "is empty");
  if (head.starts_with("SQLite format 3")) return read_nsys(file);
  std::string_view text = head;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) refuse(bytes.name(), "is empty: it holds nothing but blanks");
  if (text[first] == '{' || text[first] == '[') {
    // mpirun's "[1,0]<stdout>:" begins like a list.
    if (!looks_like_nccl_tests(head)) return import_json(file);
  }
  if (looks_like_nccl_tests(head)) return read_nccl_tests(bytes.rest(kLongestTable), bytes.name());
  if (looks_like_chakra(head)) return read_chakra(bytes);
  if (head.find('\0') == std::string::npos && text.find("_perf") != std::string_view::npos) {
    // A long preamble (NCCL_DEBUG=INFO) may come before the table.
    const std::string whole = bytes.rest(kLongestTable);
    if (looks_like_nccl_tests(whole)) return read_nccl_tests(whole, bytes.name());
  }
  refuse(bytes.name(), "is no measurement file that is known", kKnown);
}

}  // namespace imports
