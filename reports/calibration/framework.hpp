#pragma once
// The fit of a framework profile as text for people and as JSON.

#include <string>

#include "scenarios/confidence/fit/framework_fit.hpp"

namespace reports {

// Returns a line of errors, before and after, and one per constant.
[[nodiscard]] std::string framework_fit_text(const std::string& framework, const confidence::FrameworkFit& fit);
[[nodiscard]] std::string framework_fit_json(const std::string& framework, const confidence::FrameworkFit& fit);

}  // namespace reports
