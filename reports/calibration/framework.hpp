#pragma once
// The fit of a framework profile as text for people and as JSON.

#include <string>

#include "calibration/framework_fit.hpp"

namespace reports {

// Returns a line of errors, before and after, and one per constant.
[[nodiscard]] std::string framework_fit_text(const std::string& framework, const calibration::FrameworkFit& fit);
[[nodiscard]] std::string framework_fit_json(const std::string& framework, const calibration::FrameworkFit& fit);

}  // namespace reports
