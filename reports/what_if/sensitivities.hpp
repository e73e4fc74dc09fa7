#pragma once
// What each part of the cluster is worth to each plan: a table for each plan. Private to reports.

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Empty where nobody asked. Parts that change nothing are named in a line.
[[nodiscard]] std::string sensitivities_text(const scenarios::ScenarioResult& result, std::size_t width);

}  // namespace reports
