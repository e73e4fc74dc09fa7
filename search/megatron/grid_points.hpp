#pragma once
// The grid that the search walks through.

#include <vector>

#include "search/grid/grid.hpp"
#include "search/problem/problem.hpp"

namespace search {

// Every combination of tensor, pipeline, data, micro-batch and chunks (1, 2, 4) that devices and batch divide into, without recomputation
// and ZeRO. Whether the model divides too shows when the plan is built. Cost: O(results + sqrt(samples of
// a replica) for each distinct number of replicas).
[[nodiscard]] std::vector<GridConfig> grid_points(const Problem& problem);

}  // namespace search
