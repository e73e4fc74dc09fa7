#pragma once
// An assessment as text for people, JSON, tables for a Markdown file, and one HTML page with scatter plots.

#include <string>

#include "validation/assessment.hpp"

namespace reports {

// One line per group, then each group's worst cases, points without a forecast, notes.
[[nodiscard]] std::string text_report(const validation::Assessment& a);
// docs/formats.md, "Validation result".
[[nodiscard]] std::string json_report(const validation::Assessment& a);
// A page that needs nothing from outside: predicted over measured on log axes with the diagonal, a band of +-10 % and the intervals as
// whiskers, every point with its name as a tooltip; tables below. Readable on dark and light screens.
[[nodiscard]] std::string html_report(const validation::Assessment& a);
// Markdown tables, one per subject.
[[nodiscard]] std::string markdown_tables(const validation::Assessment& a);
// `document` with what stands between the lines "<!-- accuracy: begin -->" and "<!-- accuracy: end -->" replaced.
// Throws: base::InputError when the lines are not there, once each, in this order. `name`: of the document, for messages.
[[nodiscard]] std::string with_tables(const std::string& document, const std::string& tables, const std::string& name);

}  // namespace reports
