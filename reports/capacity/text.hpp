#pragma once
// The answer of capacity planning as text for people.

#include <cstddef>
#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns what is asked, one row per number of nodes below each candidate and plan (time, cost and energy each in one unit, with 90 %
// intervals; whether deadline and budget are kept; what is on the frontier), sentences that say which to choose and what other prices
// would change, and what was assumed. Lines are at most `width` characters, but for names that are longer. Empty where the scenario does
// not ask.
[[nodiscard]] std::string capacity_text(const scenarios::ScenarioResult& answer, std::size_t width);

// Returns the answer with the runs behind its capacity planning among the others, for their notes: what holds for all is said once.
[[nodiscard]] scenarios::ScenarioResult with_capacity_runs(const scenarios::ScenarioResult& answer);

}  // namespace reports
