#include <fmt/core.h>

#include <algorithm>

#include "reports/validation_reports.hpp"

namespace reports {
namespace {

using Row = std::vector<std::string>;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string percent(const std::optional<double>& share) { return share ? fmt::format("{:.0f} %", 100 * *share) : "-"; }

const Row kHeader = {"group",  "points",      "mean error",   "median", "bias",       "tau",
                     "inside", "unseen half", "unseen group", "width",  "peak memory"};

Row cells_of(const validation::GroupAssessment& g) {
  const bool any = g.time.n > 0;
  Row row{g.name, g.failed > 0 ? fmt::format("{} ({} failed)", g.points, g.failed) : std::to_string(g.points)};
  row.push_back(any ? percent(g.time.mean) : "-");
  row.push_back(any ? percent(g.time.median) : "-");
  row.push_back(any ? signed_percent(g.time.bias) : "-");
  row.push_back(g.time.n > 1 ? fmt::format("{:.3f}", g.time.tau) : "-");
  for (const auto& share : {g.coverage, g.split_half, g.leave_one_group_out, g.interval_width}) row.push_back(percent(share));
  row.push_back(g.peak ? percent(g.peak->mean) : "-");
  return row;
}

// Columns that no group of these rows fills are left out.
std::vector<Row> without_empty_columns(std::vector<Row> rows) {
  for (std::size_t c = rows[0].size(); c-- > 1;)
    if (std::all_of(rows.begin() + 1, rows.end(), [&](const Row& r) { return r[c] == "-"; }))
      for (Row& r : rows) r.erase(r.begin() + static_cast<std::ptrdiff_t>(c));
  return rows;
}

std::vector<Row> table_of(const validation::Assessment& a, validation::Subject subject) {
  std::vector<Row> rows{kHeader};
  for (const validation::GroupAssessment& g : a.groups)
    if (g.subject == subject) rows.push_back(cells_of(g));
  return without_empty_columns(std::move(rows));
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const Row& r : rows)
    for (std::size_t c = 0; c < r.size(); ++c) widths[c] = std::max(widths[c], r[c].size());
  std::string text;
  for (const Row& r : rows) {
    std::string line = fmt::format("{:<{}}", r[0], widths[0]);
    for (std::size_t c = 1; c < r.size(); ++c) line += fmt::format("  {:>{}}", r[c], widths[c]);
    text += line + "\n";
  }
  return text;
}

std::string one_case(const validation::Item& i) {
  if (!i.failure.empty()) return fmt::format("{} ({}): no forecast: {}", i.id, i.where, i.failure);
  return fmt::format("{} ({}): measured {}, predicted {} ({:+.1f} %)", i.id, i.where, base::to_text(i.measured), base::to_text(i.predicted),
                     100 * (i.predicted / i.measured - 1));
}

constexpr validation::Subject kSubjects[] = {validation::Subject::iteration, validation::Subject::kernel, validation::Subject::collective};

bool has(const validation::Assessment& a, validation::Subject s) {
  return std::ranges::any_of(a.groups, [&](const validation::GroupAssessment& g) { return g.subject == s; });
}

std::string coverage_sentence(const calibration::UnseenCoverage& h) {
  return fmt::format(
      "Intervals made from a random half of every group hold {:.1f} % of the other half (20 splits); made without a group, {:.1f} % of it "
      "(mean over groups).\n",
      100 * h.split_half_mean, 100 * h.leave_one_group_out_mean);
}

}  // namespace

std::string text_report(const validation::Assessment& a) {
  std::string text;
  for (const validation::Subject s : kSubjects)
    if (has(a, s))
      text +=
          fmt::format("{}{}s, predicted against measured\n{}", text.empty() ? "" : "\n", validation::to_text(s), aligned(table_of(a, s)));
  if (a.unseen) text += "\n" + coverage_sentence(*a.unseen);
  text += "\nWorst cases\n";
  for (const validation::GroupAssessment& g : a.groups) {
    text += fmt::format("  {}\n", g.name);
    for (const std::size_t i : g.worst) text += fmt::format("    {}\n", one_case(a.items[i]));
    if (g.failed > g.worst.size()) text += fmt::format("    ... and {} more without a forecast (see --json)\n", g.failed - g.worst.size());
    if (g.out_of_memory > 0) text += fmt::format("    {} that ran are said not to fit\n", g.out_of_memory);
  }
  for (const std::string& n : a.notes) text += fmt::format("note: {}\n", n);
  return text;
}

std::string markdown_tables(const validation::Assessment& a) {
  std::string text;
  for (const validation::Subject s : kSubjects) {
    if (!has(a, s)) continue;
    const std::vector<Row> rows = table_of(a, s);
    text += fmt::format("{}### {}{}s\n\n", text.empty() ? "" : "\n", static_cast<char>(validation::to_text(s)[0] - 'a' + 'A'),
                        validation::to_text(s).substr(1));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const std::string& cell : rows[r]) text += "| " + cell + " ";
      text += "|\n";
      if (r > 0) continue;
      for (std::size_t c = 0; c < rows[r].size(); ++c) text += c == 0 ? "|---" : "|---:";
      text += "|\n";
    }
  }
  if (a.unseen) text += "\n" + coverage_sentence(*a.unseen);
  return text;
}

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
