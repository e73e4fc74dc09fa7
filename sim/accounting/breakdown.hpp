#pragma once
// Where the time of the critical device went.

#include "sim/accounting/predecessors.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Returns: Breakdown as sim/results/simulation_result.hpp defines it; its parts add up to the makespan.
// Cost: O(tasks log tasks).
[[nodiscard]] Breakdown break_down(const Accounts& a, const Predecessors& predecessors);

}  // namespace sim
