#include "reports/validation/tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

using Row = std::vector<std::string>;

constexpr confidence::Subject kSubjects[] = {confidence::Subject::iteration, confidence::Subject::memory, confidence::Subject::kernel,
                                             confidence::Subject::collective};
constexpr const char* kNothing = "-";

const Row kColumns = {"group",  "points",      "mean error",   "median", "bias",        "tau",
                      "inside", "unseen half", "unseen group", "width",  "peak memory", "reserved"};

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
  for (const auto& share : {g.coverage, g.split_half, g.leave_one_group_out, g.interval_width}) row.push_back(rounded_percent(share));
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
  // Backwards, since a dropped column moves those behind it. The first column, the names, always stays.
  for (std::size_t c = t.columns.size(); c-- > 1;)
    if (std::ranges::all_of(t.rows, [&](const Row& r) { return r[c] == kNothing; })) drop_column(t, c);
  return t;
}

}  // namespace

std::vector<FigureTable> figure_tables(const confidence::Assessment& a) {
  std::vector<FigureTable> tables;
  for (const confidence::Subject s : kSubjects)
    if (FigureTable t = table_of(a, s); !t.rows.empty()) tables.push_back(std::move(t));
  return tables;
}

FigureTable comparison_table(const confidence::Assessment& a) {
  FigureTable t{confidence::Subject::iteration,
                {"group", "points", "forecast", "formula, group left out", "machine left out", "family left out", "questions",
                 "tau of plans", "over 5 % apart", "of the truth", "regret", "runs scatter"},
                {}};
  const auto error = [](const std::optional<double>& share) { return share ? percent(*share) : std::string(kNothing); };
  const auto tau = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : std::string(kNothing); };
  for (const confidence::GroupAssessment& g : a.groups) {
    if (!g.formula.group && !g.formula.machine && !g.formula.family) continue;
    const confidence::Choices c = g.choices.value_or(confidence::Choices{});
    const bool chooses = c.questions > 0;
    t.rows.push_back({g.name, std::to_string(g.points), percent(g.time.mean), error(g.formula.group), error(g.formula.machine),
                      error(g.formula.family), chooses ? std::to_string(c.questions) : kNothing, chooses ? tau(c.tau) : kNothing,
                      tau(c.tau_apart), tau(c.tau_of_truth), chooses ? percent(c.regret) : kNothing,
                      g.repeats ? percent(g.repeats->scatter) : kNothing});
  }
  return t;
}

std::string comparison_sentence(const confidence::Assessment& a) {
  std::size_t closer = 0;
  std::vector<double> forecasts, formulas;
  for (const confidence::GroupAssessment& g : a.groups) {
    if (!g.formula.group || g.time.n == 0) continue;
    closer += g.time.mean < *g.formula.group;
    forecasts.push_back(g.time.mean);
    formulas.push_back(*g.formula.group);
  }
  if (forecasts.empty()) return {};
  return fmt::format(
      "Forecasts are closer than the formula in {} of {} groups; the median over groups of their mean errors is {}, the formula's {}.",
      closer, forecasts.size(), percent(confidence::median(forecasts)), percent(confidence::median(formulas)));
}

FigureTable unseen_table(const confidence::UnseenCoverage& unseen) {
  FigureTable t{confidence::Subject::iteration, {"intervals made without", "inside", "width", "score"}, {}};
  const auto add = [&](const char* name, const std::optional<confidence::UnseenFigures>& f) {
    if (f) t.rows.push_back({name, percent(f->coverage), rounded_percent(f->width), fmt::format("{:.3f}", f->score)});
  };
  add("half of each group", unseen.half);
  add("the group", unseen.source);
  add("the machine", unseen.machine);
  add("the family of models", unseen.family);
  return t;
}

std::optional<confidence::Pair> memory_of(const confidence::Item& i) {
  if (i.subject != confidence::Subject::memory) return std::nullopt;
  return i.peak_bytes ? i.peak_bytes : i.reserved_bytes;
}

std::string error_of(const confidence::Item& i) {
  const auto memory = memory_of(i);
  return signed_percent((memory ? memory->predicted / memory->measured : i.predicted / i.measured) - 1);
}

std::string plural_of(confidence::Subject s) { return std::string(confidence::to_text(s)) + (s == confidence::Subject::memory ? "" : "s"); }

std::string heading_of(confidence::Subject s) {
  std::string heading = plural_of(s);
  heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(heading[0])));
  return heading;
}

}  // namespace reports
