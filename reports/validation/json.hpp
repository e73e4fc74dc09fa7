#pragma once
// An assessment as JSON (docs/formats.md, "Validation result").

#include <string>

#include "scenarios/confidence/assessment.hpp"

namespace reports {

[[nodiscard]] std::string json_report(const confidence::Assessment& a);

}  // namespace reports
