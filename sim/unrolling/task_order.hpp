#pragma once
// The order in which streams take the tasks of an iteration, where it is not that of their numbers: tasks of passes that are merged
// alternate part by part (sim/program/merged.hpp).

#include "sim/unrolling/unroll.hpp"

namespace sim {

// Returns: TaskGraph::order of the instances; empty where nothing is merged. Cost: O(tasks).
[[nodiscard]] std::vector<std::uint32_t> task_order(const Unrolled& unrolled);

}  // namespace sim
