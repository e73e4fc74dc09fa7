#pragma once
// An assessment (scenarios/confidence/assessment.hpp) as text, Markdown and JSON.

#include <string>

#include "scenarios/confidence/assessment.hpp"

namespace reports {

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
