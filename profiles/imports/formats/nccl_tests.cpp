#include "profiles/imports/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "profiles/imports/formats/nccl_table.hpp"
#include "profiles/imports/sources/byte_source.hpp"

namespace imports {
namespace {

using nccl::Row;
using nccl::Timing;
using Words = std::vector<std::string>;

Words words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  Words words;
  for (std::string w; in >> w;) words.push_back(w);
  return words;
}

// Launchers put the process before each line: "[1,0]<stdout>:" (mpirun --tag-output), "3: " (srun -l).
std::string_view without_tag(std::string_view line) {
  if (line.starts_with('[')) {
    const std::size_t end = line.find(">:");
    if (end < 32) return line.substr(end + 2);
  }
  const std::size_t colon = line.find_first_not_of(" 0123456789");
  if (colon != std::string_view::npos && colon > 0 && colon < 8 && line.substr(colon).starts_with(": ") &&
      line.substr(0, colon).find_first_of("0123456789") != std::string_view::npos)
    return line.substr(colon + 2);
  return line;
}

bool has(const Words& words, std::string_view wanted) { return std::ranges::find(words, wanted) != words.end(); }

bool is_header(const Words& words) {
  return has(words, "size") && has(words, "type") && has(words, "algbw") && has(words, "busbw") &&
         (has(words, "time") || has(words, "cputime"));
}

bool is_count(const std::string& word) { return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos; }

// Names of the columns, with the second and third of a name numbered: "time", "time 2".
Words columns_of(Words words) {
  if (!words.empty() && words.front() == "#") words.erase(words.begin());
  std::map<std::string, int> seen;
  for (std::string& w : words) {
    if (w == "cputime") w = "time";
    if (w == "error") w = "#wrong";  // until 2022
    if (const int n = ++seen[w]; n > 1) w += fmt::format(" {}", n);
  }
  return words;
}

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& file) : text_(text), file_(&file) {}
  ImportedTrace read();

 private:
  void comment(std::string_view line, const Words& words);
  void rank_line(std::string_view line);
  void row(Words words);
  void fit_to_columns(Words& words) const;
  [[nodiscard]] std::optional<Timing> timing(const std::map<std::string, std::string>& cells, bool in_place) const;
  [[nodiscard]] std::string test_below() const;

  std::string_view text_, rest_;
  const std::string* file_;
  int line_ = 0;
  Words columns_;
  std::string test_;
  nccl::Table table_;
  std::set<std::string> hosts_;
  std::map<int, std::map<int, std::string>> groups_;  // group -> rank -> device
  bool closed_ = false;
};

// "#  Rank  0 Group  0 Pid 729730 on host device  1 [0000:15:00] NVIDIA A100-SXM4-40GB"; without the group until 2022.
void TextReader::rank_line(std::string_view line) {
  static const std::regex form(
      R"(#?\s*Rank\s+(\d{1,6})\s+(?:Group\s+(\d{1,6})\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*))");
  std::match_results<std::string_view::const_iterator> m;
  if (line.size() > 512 || !std::regex_match(line.begin(), line.end(), m, form)) return;
  std::string device = m[4].str();
  while (!device.empty() && std::isspace(static_cast<unsigned char>(device.back())) != 0) device.pop_back();
  groups_[m[2].matched ? std::stoi(m[2].str()) : 0][std::stoi(m[1].str())] = device;
  hosts_.insert(m[3].str());
}

void TextReader::comment(std::string_view line, const Words& words) {
  if (const std::string named = nccl::test_named_in(line); !named.empty()) test_ = named;
  if (line.find("Avg bus bandwidth") != std::string_view::npos) closed_ = true;
  if (line.find("concluded") != std::string_view::npos) test_.clear();
  if (has(words, "Rank")) rank_line(line);
}

// An output that does not start by saying what it is ends by saying so.
std::string TextReader::test_below() const {
  for (std::string_view rest = rest_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (is_header(words_of(without_tag(line).substr(0, 512)))) return {};
    if (const std::string named = nccl::test_named_in(line); !named.empty()) return named;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return {};
}

// Some versions leave the reduction blank where there is none; a time stamp is two words under one name.
void TextReader::fit_to_columns(Words& words) const {
  if (has(columns_, "timestamp") && words.size() == columns_.size() + 1) words.pop_back();
  const auto redop = std::ranges::find(columns_, "redop");
  const auto at = static_cast<std::size_t>(redop - columns_.begin());
  if (words.size() + 1 == columns_.size() && redop != columns_.end() && at < words.size())
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), "none");
  if (words.size() == columns_.size()) return;
  refuse(*file_, fmt::format("a row of {} cells under a header of {} columns", words.size(), columns_.size()), "was the output cut off?",
         line_);
}

std::optional<Timing> TextReader::timing(const std::map<std::string, std::string>& cells, bool in_place) const {
  const std::string suffix = in_place ? " 2" : "";
  const auto cell = [&](const std::string& name) {
    const auto at = cells.find(name + suffix);
    return at == cells.end() ? std::string() : at->second;
  };
  const std::string time = cell("time");
  if (time.empty() || time == "N/A") return std::nullopt;
  const auto number = [&](const std::string& name) {
    const auto p = nccl::printed(cell(name));
    if (!p) refuse(*file_, fmt::format("{} is \"{}\", which is no number", name, cell(name)), {}, line_);
    return *p;
  };
  Timing t{.time_us = number("time"), .algbw = number("algbw"), .busbw = number("busbw"), .in_place = in_place};
  const std::string wrong = cell("#wrong");
  // Old versions print the largest error there, a number like 1e-07, which says nothing against the result.
  if (is_count(wrong)) t.wrong = number("#wrong").value;
  return t;
}

void TextReader::row(Words words) {
  fit_to_columns(words);
  std::map<std::string, std::string> cells;
  for (std::size_t i = 0; i < words.size(); ++i) cells[columns_[i]] = words[i];
  const auto size = nccl::printed(cells["size"]);
  if (!size) refuse(*file_, fmt::format("size is \"{}\", which is no number", cells["size"]), {}, line_);
  if (test_.empty()) test_ = test_below();
  Row r{.size = size->value,
        .count = nccl::printed(cells["count"]).value_or(nccl::Printed{}).value,
        .type = cells["type"],
        .redop = cells["redop"],
        .root = cells["root"],
        .test = test_,
        .line = line_};
  r.source = fmt::format("{}:{}", *file_, line_);
  for (const bool in_place : {false, true})
    if (const auto t = timing(cells, in_place)) r.timings.push_back(*t);
  if (r.timings.empty()) refuse(*file_, "a row without a time", {}, line_);
  if (r.size > 0) table_.rows.push_back(std::move(r));
}

ImportedTrace TextReader::read() {
  for (rest_ = text_; !rest_.empty();) {
    ++line_;
    std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    line = without_tag(line);
    if (line.size() > 4096) continue;  // the environment, a stack trace: no row is that long
    const Words words = words_of(line);
    if (is_header(words)) columns_ = columns_of(words);
    else if (!columns_.empty() && !words.empty() && is_count(words.front())) row(words);
    else comment(line, words);
  }
  if (columns_.empty()) refuse(*file_, "has no header line with size, time, algbw and busbw");
  if (!groups_.empty()) {
    // Splitting makes several groups that work at the same time, each with its share of the ranks.
    table_.ranks = static_cast<int>(groups_.begin()->second.size());
    table_.nodes = static_cast<int>(hosts_.size());
    for (const auto& [rank, device] : groups_.begin()->second) table_.devices.push_back(device);
    if (groups_.size() > 1) table_.notes.push_back(fmt::format("{} groups ran at the same time and shared links", groups_.size()));
  }
  if (!closed_)
    table_.notes.emplace_back(
        "the closing lines (\"# Avg bus bandwidth\") are not there: the run may have been stopped, or only a part was kept");
  return nccl::to_trace(table_, *file_);
}

std::string text_of(const nlohmann::json& in, const char* key) {
  const auto at = in.find(key);
  return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
}

int whole_of(const nlohmann::json& in, const char* key) {
  const auto at = in.find(key);
  return at != in.end() && at->is_number_integer() && at->get<double>() >= 0 && at->get<double>() < 1e6 ? at->get<int>() : 0;
}

// A table without rows yet.
nccl::Table table_of_config(const nlohmann::json& document) {
  nccl::Table table;
  const auto config = document.find("config");
  if (config == document.end() || !config->is_object()) return table;
  std::set<std::string> hosts;
  std::set<int> groups;
  if (const auto list = config->find("devices"); list != config->end() && list->is_array())
    for (const auto& device : *list) {
      if (!device.is_object()) continue;
      groups.insert(whole_of(device, "group"));
      if (whole_of(device, "group") == *groups.begin()) table.devices.push_back(text_of(device, "device_info"));
      hosts.insert(text_of(device, "hostname"));
    }
  // Built without MPI it lists the first device only, though it runs threads x GPUs.
  const int local = whole_of(*config, "nthreads") * whole_of(*config, "ngpus");
  table.ranks = static_cast<int>(table.devices.size());
  if (hosts.size() <= 1 && groups.size() <= 1) table.ranks = std::max(table.ranks, local);
  table.nodes = static_cast<int>(hosts.size());
  return table;
}

// The test that the command line names.
std::string test_of(const nlohmann::json& document) {
  const auto args = document.find("args");
  if (args == document.end() || !args->is_array() || args->empty() || !args->front().is_string()) return {};
  return nccl::test_named_in(args->front().get<std::string>());
}

nccl::Printed number_of(const nlohmann::json& in, const char* key, const std::string& where, const std::string& file) {
  const auto at = in.find(key);
  const bool sound = at != in.end() && at->is_number() && at->get<double>() >= 0;
  if (!sound) refuse(file, fmt::format("{}: {} is {}, not a number", where, key, at == in.end() ? "missing" : at->dump().substr(0, 40)));
  return {at->get<double>(), 0.5e-6};  // %lf
}

Row row_of(const nlohmann::json& r, const std::string& where, const std::string& file) {
  if (!r.is_object()) refuse(file, where + " is no object");
  Row row{.size = number_of(r, "size", where, file).value,
          .count = r.contains("count") ? number_of(r, "count", where, file).value : 0,
          .type = text_of(r, "type"),
          .redop = text_of(r, "redop"),
          .root = text_of(r, "root"),
          .test = nccl::test_named_in(text_of(r, "experiment_name")),
          .source = fmt::format("{}: {}", file, where)};
  std::erase(row.root, ' ');
  for (const bool in_place : {false, true}) {
    const char* key = in_place ? "in_place" : "out_of_place";
    const auto body = r.find(key);
    if (body == r.end() || !body->is_object()) continue;
    const std::string at = where + "." + key;
    Timing t{.time_us = number_of(*body, body->contains("cpu_time") ? "cpu_time" : "time", at, file),
             .algbw = number_of(*body, "alg_bw", at, file),
             .busbw = number_of(*body, "bus_bw", at, file),
             .in_place = in_place};
    const auto wrong = body->find("nwrong");
    if (wrong != body->end() && wrong->is_number()) t.wrong = wrong->get<double>();
    row.timings.push_back(t);
  }
  if (row.timings.empty()) refuse(file, where + " has no time");
  return row;
}

}  // namespace

bool looks_like_nccl_tests(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() < 4096 && line.find("algbw") != std::string_view::npos && is_header(words_of(without_tag(line)))) return true;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return false;
}

ImportedTrace read_nccl_tests(std::string_view text, const std::string& file) { return TextReader(text, file).read(); }
ImportedTrace read_nccl_tests_json(const nlohmann::json& document, const std::string& file) {
  const auto results = document.find("results");
  if (results == document.end() || !results->is_array()) refuse(file, "is JSON of nccl-tests without results");
  nccl::Table table = table_of_config(document);
  for (std::size_t i = 0; i < results->size(); ++i) {
    Row row = row_of((*results)[i], fmt::format("results[{}]", i), file);
    if (row.test.empty()) row.test = test_of(document);
    if (row.size > 0) table.rows.push_back(std::move(row));
  }
  return nccl::to_trace(table, file);
}

}  // namespace imports
