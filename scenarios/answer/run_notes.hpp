#pragma once
// The facts of a run besides its figures, as sentences.

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/answer/result.hpp"

namespace scenarios {

// Returns the sentences, by kind, the most important first: what is missing in memory, how a search ended that found nothing or was cut
// off; what the forecast rests on; why the base's plan is not used, what the planner says of its search, and at most `most_lost` of the
// candidates that lost. Not empty where there is no plan.
[[nodiscard]] std::vector<base::Note> run_notes(const Run& run, std::size_t most_lost = std::numeric_limits<std::size_t>::max());

// Why an MFU is above 1; nullopt: it is not. `causal`: without what masks throw away.
[[nodiscard]] std::optional<base::Note> high_mfu_note(double mfu, double causal);

}  // namespace scenarios
