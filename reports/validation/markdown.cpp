#include "reports/validation/markdown.hpp"

#include <fmt/core.h>

#include "base/diagnostics.hpp"
#include "reports/validation/tables.hpp"

namespace reports {
namespace {

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += "| " + cell + " ";
  return line + "|\n";
}

// The names of groups stand left, figures right.
std::string rule_of(std::size_t columns) {
  std::string line = "|---";
  for (std::size_t c = 1; c < columns; ++c) line += "|---:";
  return line + "|\n";
}

}  // namespace

std::string markdown_tables(const confidence::Assessment& a) {
  std::string text;
  const auto add = [&](const std::string& heading, const FigureTable& t) {
    text += fmt::format("{}### {}\n\n", text.empty() ? "" : "\n", heading) + line_of(t.columns) + rule_of(t.columns.size());
    for (const auto& row : t.rows) text += line_of(row);
  };
  if (const FigureTable t = comparison_table(a); !t.rows.empty()) {
    add("Iterations, beside a closed formula", t);
    text += "\n" + comparison_sentence(a) + "\n";
  }
  for (const FigureTable& t : figure_tables(a)) add(heading_of(t.subject), t);
  if (!a.unseen) return text;
  if (const FigureTable t = unseen_table(*a.unseen); !t.rows.empty()) add("Intervals of points that did not make them", t);
  return text;
}

// Markers that come twice, or in the other order, would make it a guess what to replace.
std::string with_tables(const std::string& document, const std::string& tables, const std::string& name) {
  const std::string begin = "<!-- accuracy: begin -->\n", end = "<!-- accuracy: end -->";
  const std::size_t from = document.find(begin), to = document.find(end);
  const bool once = from != std::string::npos && to != std::string::npos && from < to &&
                    document.find(begin, from + 1) == std::string::npos && document.find(end, to + 1) == std::string::npos;
  if (!once)
    throw base::InputError(
        std::vector<base::Diagnostic>{{{},
                                       name,
                                       "has no place for the tables",
                                       "write the lines <!-- accuracy: begin --> and <!-- accuracy: end --> into it, once each"}});
  return document.substr(0, from + begin.size()) + tables + document.substr(to);
}

}  // namespace reports
