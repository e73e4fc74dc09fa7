#include "topology/imports/slurm_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <cctype>
#include <map>

#include "base/yaml/parse.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

constexpr std::size_t kMostHosts = 100'000;  // of one expression, and of a whole file

// "0-11,15" -> "0" ... "11", "15"; the zeros of "01-10" are kept.
std::string expand_ranges(std::string_view ranges, std::vector<std::string>& out) {
  while (true) {
    const auto comma = std::min(ranges.find(','), ranges.size());
    const auto item = ranges.substr(0, comma);
    const auto dash = item.find('-');
    const auto low_text = item.substr(0, dash), high_text = dash == std::string_view::npos ? low_text : item.substr(dash + 1);
    const auto low = parse_count(low_text), high = parse_count(high_text);
    if (!low || !high || low_text.size() > 10) return fmt::format("\"{}\" is no number or range", item);
    if (*low > *high) return fmt::format("the range {} runs backwards", item);
    if (out.size() + static_cast<std::size_t>(*high - *low) >= kMostHosts) return fmt::format("more than {} names", kMostHosts);
    for (int i = *low; i <= *high; ++i) out.push_back(fmt::format("{:0{}}", i, low_text.size()));
    if (comma == ranges.size()) return {};
    ranges.remove_prefix(comma + 1);
  }
}

// One item without commas outside brackets: text and bracketed ranges alternate.
std::string expand_item(std::string_view item, std::vector<std::string>& names) {
  std::vector<std::string> expanded{""};
  if (item.empty()) return "an empty name";
  while (!item.empty()) {
    std::vector<std::string> parts;
    if (item.front() == '[') {
      const auto close = item.find(']');
      if (close == std::string_view::npos) return "\"[\" without \"]\"";
      if (auto problem = expand_ranges(item.substr(1, close - 1), parts); !problem.empty()) return problem;
      item.remove_prefix(close + 1);
    } else {
      const auto end = std::min(item.find('['), item.size());
      if (item.substr(0, end).find(']') != std::string_view::npos) return "\"]\" without \"[\"";
      parts.emplace_back(item.substr(0, end));
      item.remove_prefix(end);
    }
    if (expanded.size() * parts.size() + names.size() > kMostHosts) return fmt::format("more than {} names", kMostHosts);
    std::vector<std::string> longer;
    for (const auto& head : expanded)
      for (const auto& tail : parts) longer.push_back(head + tail);
    expanded = std::move(longer);
  }
  names.insert(names.end(), expanded.begin(), expanded.end());
  return {};
}

// The names of a hostlist expression of Slurm's ("tux[0-11,15],login1", "rack[0-1]n[01-18]"), or what is wrong with it.
struct Hostlist {
  std::vector<std::string> names;  // in the order written, "n01" keeps its zeros; may hold duplicates
  std::string problem;             // empty if the expression is sound; else names are void
};

Hostlist expand_hostlist(std::string_view expression) {
  Hostlist list;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= expression.size(); ++i) {
    const char c = i < expression.size() ? expression[i] : ',';
    if (c == '[' && ++depth > 1) list.problem = "\"[\" inside brackets";
    if (c == ']' && --depth < 0) list.problem = "\"]\" without \"[\"";
    if (i == expression.size() && depth > 0) list.problem = "\"[\" without \"]\"";
    if (!list.problem.empty()) return list;
    if (c != ',' || depth > 0) continue;
    list.problem = expand_item(expression.substr(start, i - start), list.names);
    if (!list.problem.empty()) return list;
    start = i + 1;
  }
  return list;
}

struct Line {
  int number = 0;  // of its first line
  std::string text;
};

struct Setting {
  std::string key;  // in small letters
  std::string value;
};

// Without comments; a line that ends in a backslash goes on in the next.
std::vector<Line> logical_lines(std::string_view text) {
  std::vector<Line> lines;
  bool goes_on = false;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, std::min(end, text.find('#'))));
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    const bool more = line.ends_with('\\');
    if (more) line.back() = ' ';
    if (goes_on) lines.back().text += line;
    else lines.push_back({number, line});
    goes_on = more;
  }
  return lines;
}

// "Key=Value" words; a value may be in quotes. nullopt when a word is no such thing.
std::optional<std::vector<Setting>> settings_of(std::string_view line) {
  std::vector<Setting> settings;
  std::string word;
  bool quoted = false;
  for (const char c : std::string(line) + " ") {
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted || (c != ' ' && c != '\t')) {
      word += c;
    } else if (!word.empty()) {
      const auto equals = word.find('=');
      if (equals == std::string::npos || equals == 0) return std::nullopt;
      settings.push_back({boost::algorithm::to_lower_copy(word.substr(0, equals)), word.substr(equals + 1)});
      word.clear();
    }
  }
  return quoted ? std::nullopt : std::optional(std::move(settings));
}

bool is_topology(const Line& line) {
  const auto start = line.text.find_first_not_of(" \t");
  const auto word = std::string_view(line.text).substr(std::min(start, line.text.size()));
  const auto begins = [&](std::string_view key) { return boost::algorithm::istarts_with(word, key); };
  return begins("switchname=") || begins("blockname=") || begins("blocksizes=") || begins("ringname=");
}

struct SlurmLines {
  const SourceText& source;
  base::Diagnostics sink;
  SlurmTopology topology;
  std::map<std::string, int> lines;
  std::size_t names = 0;
};

void complain(SlurmLines& s, int line, std::string message, std::string hint = {}) {
  s.sink.add(s.source.at(line), "", std::move(message), std::move(hint));
}

std::vector<std::string> expand(SlurmLines& s, const std::string& expression, int line) {
  auto list = expand_hostlist(expression);
  if (!list.problem.empty()) complain(s, line, fmt::format("\"{}\": {}", expression.substr(0, 60), list.problem));
  s.names += list.names.size();
  if (s.names > kMostHosts) refuse(s.source.at(line), fmt::format("more than {} names in the file", kMostHosts));
  return list.problem.empty() ? std::move(list.names) : std::vector<std::string>{};
}

void read_block_sizes(SlurmLines& s, const std::string& text, int line) {
  std::string_view rest = text;
  while (true) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto size = parse_count(rest.substr(0, comma));
    if (!size || *size == 0) return complain(s, line, fmt::format("BlockSizes \"{}\" are no numbers of nodes", text));
    s.topology.block_sizes.push_back(*size);
    if (comma == rest.size()) return;
    rest.remove_prefix(comma + 1);
  }
}

void read_setting(SlurmLines& s, const Setting& setting, SlurmSwitch& entry) {
  static const std::vector<std::string> kKeys = {"switchname", "blockname", "nodes", "switches", "linkspeed", "blocksizes"};
  if (setting.value.empty()) return complain(s, entry.line, fmt::format("\"{}\" has no value", setting.key));
  if (setting.key == "switchname" || setting.key == "blockname") entry.name = setting.value;
  else if (setting.key == "nodes") entry.nodes = expand(s, setting.value, entry.line);
  else if (setting.key == "switches") entry.switches = expand(s, setting.value, entry.line);
  else if (setting.key == "linkspeed") entry.link_speed = setting.value;
  else if (setting.key == "blocksizes") read_block_sizes(s, setting.value, entry.line);
  else if (setting.key != "level")
    complain(s, entry.line, fmt::format("\"{}\" is not known", setting.key), base::suggest(setting.key, kKeys));
}

void add(SlurmLines& s, SlurmSwitch entry, std::vector<SlurmSwitch>& to, const char* what) {
  if (entry.name.find_first_of("[],") != std::string::npos)
    return complain(s, entry.line, fmt::format("\"{}\": one {} per line", entry.name, what));
  const auto [first, is_new] = s.lines.emplace(entry.name, entry.line);
  if (!is_new) return complain(s, entry.line, fmt::format("{} \"{}\" is there twice, first in line {}", what, entry.name, first->second));
  if (entry.nodes.empty() == entry.switches.empty() && s.sink.empty())
    complain(s, entry.line, fmt::format("{} \"{}\" needs either nodes or switches below it", what, entry.name));
  to.push_back(std::move(entry));
}

void read_line(SlurmLines& s, const Line& line) {
  if (line.text.find_first_not_of(" \t") == std::string::npos) return;
  const auto settings = settings_of(line.text);
  if (!settings || settings->empty()) return complain(s, line.number, "expected KEY=VALUE", "e.g. SwitchName=s0 Nodes=tux[0-11]");
  const auto& kind = settings->front().key;
  SlurmSwitch entry;
  entry.line = line.number;
  for (const auto& setting : *settings) read_setting(s, setting, entry);
  // `scontrol show topology` counts levels, and names again the nodes of the leaves below.
  if (std::ranges::find(*settings, "level", &Setting::key) != settings->end() && !entry.switches.empty()) entry.nodes.clear();
  if (kind == "switchname") add(s, std::move(entry), s.topology.switches, "switch");
  else if (kind == "blockname") add(s, std::move(entry), s.topology.blocks, "block");
  else if (kind != "blocksizes") complain(s, line.number, "a line begins with SwitchName=, BlockName= or BlockSizes=");
}

// Slurm's topology.yaml has the same under other names: a list of topologies, each a tree or blocks.
void read_entries(SlurmLines& s, const base::Yaml& section, const char* list, const std::string& kind, std::vector<SlurmSwitch>& to) {
  for (const auto& [key, mark, value] : section.entries)
    if (key == "block_sizes")
      for (const auto& size : value.items) read_block_sizes(s, size.scalar, mark.line);
    else if (key != list) complain(s, mark.line, fmt::format("\"{}\" is not known", key), fmt::format("\"{}\" is", list));
  const base::Yaml* items = section.find(list);
  if (items == nullptr) return complain(s, section.mark.line, fmt::format("no \"{}\" in it", list));
  for (const base::Yaml& item : items->items) {
    SlurmSwitch entry{.line = item.mark.line};
    for (const auto& [key, mark, value] : item.entries)
      read_setting(s, {key == kind ? kind + "name" : key == "children" ? "switches" : key, value.scalar}, entry);
    if (entry.name.empty()) complain(s, entry.line, fmt::format("an entry without \"{}\"", kind));
    else add(s, std::move(entry), to, kind.c_str());
  }
}

void read_topologies(SlurmLines& s) {
  const base::Yaml document = base::parse_yaml(std::string(s.source.text()), s.source.at(1).source->name);
  const base::Yaml* taken = nullptr;
  for (const base::Yaml& topology : document.items)
    if (const auto* is_default = topology.find("cluster_default");
        taken == nullptr || (is_default != nullptr && is_default->scalar == "true"))
      taken = &topology;
  if (taken == nullptr || taken->find("topology") == nullptr) refuse(s.source.at(1), "no list of topologies, as topology.yaml is one");
  for (const auto& [key, mark, value] : taken->entries)
    if (key == "tree") read_entries(s, value, "switches", "switch", s.topology.switches);
    else if (key == "block") read_entries(s, value, "blocks", "block", s.topology.blocks);
    else if (key != "topology" && key != "cluster_default")
      complain(s, mark.line, fmt::format("a topology of kind \"{}\" is not read", key), "tree and block are");
  if (document.items.size() > 1)
    s.topology.notes.push_back(
        fmt::format("Of {} topologies the default one is taken, {}.", document.items.size(), taken->find("topology")->scalar));
}

}  // namespace

std::optional<SlurmTopology> read_slurm_lines(const SourceText& source) {
  const auto lines = logical_lines(source.text());
  const bool yaml = std::ranges::any_of(lines, [](const Line& l) { return l.text.starts_with("- topology:"); });
  if (!yaml && std::ranges::none_of(lines, is_topology)) return std::nullopt;
  SlurmLines s{.source = source};
  if (yaml) read_topologies(s);
  else
    for (const auto& line : lines) read_line(s, line);
  if (!s.topology.switches.empty() && !s.topology.blocks.empty())
    complain(s, s.topology.blocks.front().line, "switches and blocks in one file: Slurm reads either a tree or blocks");
  s.sink.throw_if_any();
  return std::move(s.topology);
}

}  // namespace topology::imports
