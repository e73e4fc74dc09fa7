#include "topology/imports/hostlist.hpp"

#include <fmt/core.h>

#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

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

// One item without commas outside brackets: text and bracketed ranges in turn.
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

}  // namespace

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

}  // namespace topology::imports
