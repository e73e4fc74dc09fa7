#pragma once
// The facts of a run besides its figures, as sentences.

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "scenarios/result.hpp"

namespace scenarios {

// Returns the sentences, the most important first: why the base's plan is not used, what the planner says of its search, what is missing
// in memory, without a plan how the search ended, at most `most_lost` of the candidates that lost, what the forecast rests on. Not empty
// where there is no plan.
[[nodiscard]] std::vector<std::string> run_notes(const Run& run, std::size_t most_lost = std::numeric_limits<std::size_t>::max());

}  // namespace scenarios
