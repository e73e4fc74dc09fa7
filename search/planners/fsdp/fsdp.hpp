#pragma once
// Sharded data parallelism: ZeRO (Rajbhandari et al., SC'20, arXiv 1910.02054), as PyTorch's FSDP plans it (arXiv 2304.11277).

#include <string>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/planner.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/search_result.hpp"

namespace search {

[[nodiscard]] Planner fsdp_planner();

// The quickest of a few grids: all are estimated, and the best by their estimates are simulated.

// `grids`: at least one; those that differ in recomputation alone follow each other, because they share most of an estimate. Those that
// cannot be built are left out. `name`: of the plan. Without a plan that fits the result has the one that lacks least memory.
// Cost: one estimate per grid, the memory of each until some are simulated, and at most four simulations.
[[nodiscard]] SearchResult quickest_of(const Problem& problem, const std::vector<GridConfig>& grids, const std::string& name,
                                       const SearchLimits& limits, const SearchContext& context);

}  // namespace search
