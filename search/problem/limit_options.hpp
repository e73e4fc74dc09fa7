#pragma once
// The two options that every planner that searches has: `budget` and `candidates`.

#include <string>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/problem/option.hpp"
#include "search/problem/option_values.hpp"

namespace search {

// Returns both, and the planner's own behind them. `counted`: what counts as a candidate, in the plural.
[[nodiscard]] std::vector<Option> with_limits(base::Seconds budget, const std::string& counted, std::vector<Option> own,
                                              std::string time_for = "the time that the search may take");
// Requires: the values are of options with limits.
[[nodiscard]] SearchLimits limits_of(const OptionValues& values);

}  // namespace search
