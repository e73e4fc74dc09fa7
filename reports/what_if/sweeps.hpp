#pragma once
// The sweeps of a scenario: a table for each of them and each plan, a row for each point. Private to reports.

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Empty where there are no sweeps. Of a long sweep the first points are shown; the JSON, the CSV and the report have all.
[[nodiscard]] std::string sweeps_text(const scenarios::ScenarioResult& result, std::size_t width);

}  // namespace reports
