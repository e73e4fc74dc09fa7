#pragma once
// An assessment (scenarios/confidence/assessment.hpp) as text, Markdown and JSON, and the tables of figures that all of them show.

#include <optional>
#include <string>
#include <vector>

#include "scenarios/confidence/assessment.hpp"

namespace reports {

struct FigureTable {
  confidence::Subject subject = confidence::Subject::iteration;
  std::vector<std::string> columns;            // the first has the names of rows, as a rule groups
  std::vector<std::vector<std::string>> rows;  // a cell per column
};

// Returns a table per subject that has groups. Columns that no group of the subject fills are left out.
[[nodiscard]] std::vector<FigureTable> figure_tables(const confidence::Assessment& a);
// Returns, for iterations, forecasts beside a closed formula whose constant was fitted without the group, the machine or the family of
// models, and how well forecasts choose among plans of one question; no rows where nothing is known of the points.
[[nodiscard]] FigureTable comparison_table(const confidence::Assessment& a);
// Returns a sentence on how often forecasts are closer than the formula.
[[nodiscard]] std::string comparison_sentence(const confidence::Assessment& a);
// Returns, of a point of memory alone, its bytes: allocated ones, else what the allocator held.
[[nodiscard]] std::optional<confidence::Pair> memory_of(const confidence::Item& i);
// Returns the figures of intervals for points that their fit had not seen, a row for each way of leaving points out; no rows where too few
// points remain.
[[nodiscard]] FigureTable unseen_table(const confidence::UnseenCoverage& unseen);
// Returns the error of a forecast with its sign, "+5.3 %".
[[nodiscard]] std::string error_of(const confidence::Item& i);
// Returns "iterations"; memory has no plural.
[[nodiscard]] std::string plural_of(confidence::Subject s);
// Returns "Iterations", a subject as a heading has it.
[[nodiscard]] std::string heading_of(confidence::Subject s);

// Returns one line per group, then each group's worst cases, the points without a forecast, and the notes.
[[nodiscard]] std::string text_report(const confidence::Assessment& a);

// Returns one table per subject, and one on intervals of unseen points where these are known.
[[nodiscard]] std::string markdown_tables(const confidence::Assessment& a);
// Returns `document` with the text between the lines "<!-- accuracy: begin -->" and "<!-- accuracy: end -->" replaced by `tables`. `name`
// is the document's, for messages. Throws: base::InputError when the lines are not there, once each, in this order.
[[nodiscard]] std::string with_tables(const std::string& document, const std::string& tables, const std::string& name);

// Returns docs/formats/measurements.md, "Validation result".
[[nodiscard]] std::string json_report(const confidence::Assessment& a);

}  // namespace reports
