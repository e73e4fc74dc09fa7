#include "reports/validation/assessment.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

using Row = std::vector<std::string>;

struct FigureTable {
  confidence::Subject subject = confidence::Subject::iteration;
  Row columns;            // the first has the names of rows, as a rule groups
  std::vector<Row> rows;  // a cell per column
};

constexpr confidence::Subject kSubjects[] = {confidence::Subject::iteration, confidence::Subject::memory, confidence::Subject::kernel,
                                             confidence::Subject::collective, confidence::Subject::step_kernel};
constexpr const char* kNothing = "-";

const Row kColumns = {"group",  "points",       "mean error", "median",      "bias",    "tau",
                      "inside", "unseen group", "width",      "peak memory", "reserved"};

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string rounded_percent(const std::optional<double>& share) { return share ? fmt::format("{:.0f} %", 100 * *share) : kNothing; }

// A rank correlation needs two points, the other figures one.
Row cells_of(const confidence::GroupAssessment& g) {
  const bool any = g.time.n > 0;
  Row row{g.name, g.failed > 0 ? fmt::format("{} ({} failed)", g.points, g.failed) : std::to_string(g.points)};
  row.push_back(any ? percent(g.time.mean) : kNothing);
  row.push_back(any ? percent(g.time.median) : kNothing);
  row.push_back(any ? signed_percent(g.time.bias) : kNothing);
  row.push_back(g.time.n > 1 ? fmt::format("{:.3f}", g.time.tau) : kNothing);
  for (const auto& share : {g.coverage, g.leave_one_group_out, g.interval_width}) row.push_back(rounded_percent(share));
  row.push_back(g.peak ? percent(g.peak->mean) : kNothing);
  row.push_back(g.reserved ? percent(g.reserved->mean) : kNothing);
  return row;
}

void drop_column(FigureTable& t, std::size_t c) {
  const auto at = static_cast<std::ptrdiff_t>(c);
  t.columns.erase(t.columns.begin() + at);
  for (Row& r : t.rows) r.erase(r.begin() + at);
}

FigureTable table_of(const confidence::Assessment& a, confidence::Subject subject) {
  FigureTable t{subject, kColumns, {}};
  for (const confidence::GroupAssessment& g : a.groups)
    if (g.subject == subject) t.rows.push_back(cells_of(g));
  // Backwards, since a dropped column moves those after it. The first column, the names, always stays.
  for (std::size_t c = t.columns.size(); c-- > 1;)
    if (std::ranges::all_of(t.rows, [&](const Row& r) { return r[c] == kNothing; })) drop_column(t, c);
  return t;
}

// Whole steps, with what cancels in them: differences of kinds add up to more than the difference of the whole.
FigureTable step_table(const confidence::Assessment& a) {
  FigureTable t{confidence::Subject::step, {"step", "measured", "forecast", "error", "kinds apart", "kinds known"}, {}};
  for (const confidence::Item& i : a.items)
    if (i.step && i.failure.empty())
      t.rows.push_back({i.id, base::to_text(i.measured), base::to_text(i.predicted), signed_percent(i.predicted / i.measured - 1),
                        percent(i.step->by_kind / i.measured), percent(i.step->known / i.measured)});
  return t;
}

std::vector<FigureTable> figure_tables(const confidence::Assessment& a) {
  std::vector<FigureTable> tables;
  for (const confidence::Subject s : kSubjects)
    if (FigureTable t = table_of(a, s); !t.rows.empty()) tables.push_back(std::move(t));
  if (FigureTable t = step_table(a); !t.rows.empty()) tables.push_back(std::move(t));
  return tables;
}

// Points by who published them, with intervals of all others.
FigureTable source_table(const confidence::UnseenCoverage& unseen) {
  FigureTable t{confidence::Subject::iteration, {"source, left out", "points", "mean error", "inside", "width"}, {}};
  for (const confidence::LeftOutFigures& l : unseen.left_out)
    if (l.by == "source")
      t.rows.push_back({l.name, std::to_string(l.points), percent(l.mean_error), rounded_percent(l.inside), rounded_percent(l.width)});
  return t;
}

// Comparisons of iterations that differ in one kind of thing, by spreads of all other sources.
FigureTable left_out_table(const confidence::Assessment& a) {
  FigureTable t{confidence::Subject::iteration, {"pairs that differ in", "pairs", "sources", "inside", "width"}, {}};
  for (const confidence::LeftOutPairs& p : a.left_out_pairs)
    t.rows.push_back({std::string(scenarios::kChangeNames[static_cast<std::size_t>(p.kind)]), std::to_string(p.pairs),
                      std::to_string(p.publications), p.inside ? percent(*p.inside) : kNothing, rounded_percent(p.width)});
  return t;
}

std::string plural_of(confidence::Subject s) { return std::string(confidence::to_text(s)) + (s == confidence::Subject::memory ? "" : "s"); }

std::string aligned(const FigureTable& figures) {
  std::vector<Table::Column> columns;
  for (const std::string& title : figures.columns) columns.push_back(columns.empty() ? left(title) : right(title));
  Table table(std::move(columns));
  for (const auto& row : figures.rows) table.row(row);
  return table.text();
}

std::string one_case(const confidence::Item& i) {
  if (!i.failure.empty()) return fmt::format("{} ({}): no forecast: {}", i.id, i.where, i.failure);
  // Of a point of memory alone its bytes: allocated ones, else what the allocator held.
  const auto bytes = i.peak_bytes ? i.peak_bytes : i.reserved_bytes;
  const bool is_memory = i.subject == confidence::Subject::memory && bytes;
  return fmt::format("{} ({}): measured {}, predicted {} ({})", i.id, i.where,
                     is_memory ? base::to_text(base::Bytes(bytes->measured)) : base::to_text(i.measured),
                     is_memory ? base::to_text(base::Bytes(bytes->predicted)) : base::to_text(i.predicted),
                     signed_percent((is_memory ? bytes->predicted / bytes->measured : i.predicted / i.measured) - 1));
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
  if (const FigureTable t = a.unseen ? source_table(*a.unseen) : FigureTable{}; !t.rows.empty())
    text += "\nsources, with intervals that all others made\n" + aligned(t);
  if (const FigureTable t = left_out_table(a); !t.rows.empty()) text += "\ncomparisons, of sources that did not make them\n" + aligned(t);
  text += "\nWorst cases\n";
  for (const confidence::GroupAssessment& g : a.groups) text += worst_cases(a, g);
  for (const std::string& n : a.notes) text += fmt::format("note: {}\n", n);
  return text;
}

}  // namespace reports
