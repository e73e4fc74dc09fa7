#include "reports/validation/text.hpp"

#include <fmt/core.h>

#include "reports/layout/table.hpp"
#include "reports/validation/tables.hpp"

namespace reports {
namespace {

std::string aligned(const FigureTable& figures) {
  std::vector<Table::Column> columns;
  for (const std::string& title : figures.columns) columns.push_back({title, columns.empty() ? Align::left : Align::right});
  Table table(std::move(columns));
  for (const auto& row : figures.rows) table.row(row);
  return table.text();
}

std::string one_case(const confidence::Item& i) {
  if (!i.failure.empty()) return fmt::format("{} ({}): no forecast: {}", i.id, i.where, i.failure);
  const auto memory = memory_of(i);
  return fmt::format("{} ({}): measured {}, predicted {} ({})", i.id, i.where,
                     memory ? base::to_text(base::Bytes(memory->measured)) : base::to_text(i.measured),
                     memory ? base::to_text(base::Bytes(memory->predicted)) : base::to_text(i.predicted), error_of(i));
}

// The worst cases of a group are its failed points first: how many are left is said, so that none is lost from sight.
std::string worst_cases(const confidence::Assessment& a, const confidence::GroupAssessment& g) {
  std::string text = fmt::format("  {}\n", g.name);
  for (const std::size_t i : g.worst) text += fmt::format("    {}\n", one_case(a.items[i]));
  if (g.failed > g.worst.size()) text += fmt::format("    ... and {} more without a forecast (see --json)\n", g.failed - g.worst.size());
  if (g.out_of_memory > 0) text += fmt::format("    {} that ran are said not to fit\n", g.out_of_memory);
  return text;
}

}  // namespace

std::string text_report(const confidence::Assessment& a) {
  std::string text;
  for (const FigureTable& t : figure_tables(a))
    text += fmt::format("{}{}, predicted against measured\n{}", text.empty() ? "" : "\n", plural_of(t.subject), aligned(t));
  if (const FigureTable t = a.unseen ? unseen_table(*a.unseen) : FigureTable{}; !t.rows.empty())
    text += "\nintervals of points that did not make them\n" + aligned(t);
  text += "\nWorst cases\n";
  for (const confidence::GroupAssessment& g : a.groups) text += worst_cases(a, g);
  for (const std::string& n : a.notes) text += fmt::format("note: {}\n", n);
  return text;
}

}  // namespace reports
