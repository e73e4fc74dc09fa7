#pragma once
// An assessment (scenarios/confidence/assessment.hpp) as text and JSON.

#include <string>

#include "scenarios/confidence/assessment.hpp"

namespace reports {

// Returns one line per group, then each group's worst cases, the points without a forecast, and the notes.
[[nodiscard]] std::string text_report(const confidence::Assessment& a);

// Returns docs/formats/measurements.md, "Validation result".
[[nodiscard]] std::string json_report(const confidence::Assessment& a);

}  // namespace reports
