#pragma once
// An assessment as JSON (docs/formats.md, "Validation result").

#include <string>

#include "validation/assessment.hpp"

namespace reports {

[[nodiscard]] std::string json_report(const validation::Assessment& a);

}  // namespace reports
