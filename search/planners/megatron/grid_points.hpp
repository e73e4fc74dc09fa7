#pragma once
// The grid that the search walks through.

#include <vector>

#include "search/grid/grid.hpp"
#include "search/problem/problem.hpp"

namespace search {

// Every combination of tensor, context, expert, pipeline and data degree, sequence parallelism, micro-batch, chunks, and stages of equal
// and of balanced length that devices and batch divide into, without recomputation and ZeRO. Chunks: 1 to 8, and all divisors of a stage's
// layers. Points of one cut (tensor, context, expert, sequence parallelism and micro-batch) stand together, small groups of devices first,
// small micro-batches first among their like. Whether the model divides too shows when the plan is built. Cost: O(results + sqrt(global
// batch)).
[[nodiscard]] std::vector<GridConfig> grid_points(const Problem& problem);

}  // namespace search
