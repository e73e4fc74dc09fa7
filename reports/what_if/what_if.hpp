#pragma once
// Tables of sweeps and of sensitivities. Private to reports.

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns a table for each sweep and each plan, a row for each point; empty where there are no sweeps. Of a long sweep the first points are
// shown; the JSON, the CSV and the report have all.
[[nodiscard]] std::string sweeps_text(const scenarios::ScenarioResult& result, std::size_t width);

// Returns a table for each plan: what each part of the cluster is worth to it; empty where the scenario does not ask. Parts that change
// nothing are named in a line.
[[nodiscard]] std::string sensitivities_text(const scenarios::ScenarioResult& result, std::size_t width);

}  // namespace reports
