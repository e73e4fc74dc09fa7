#pragma once
// Megatron-LM's grid by hand (Narayanan et al., SC'21, arXiv 2104.04473): the user gives the degrees.

#include "search/grid/grid_plan.hpp"
#include "search/planners/megatron/wishes.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/planner.hpp"

namespace search {

// Refuses as GridPlanner::plan does.
[[nodiscard]] Attempt<pcg::Plan> megatron_plan(GridPlanner& planner, const GridConfig& config, Balance balance = Balance::whole);
[[nodiscard]] Attempt<pcg::Plan> megatron_plan(const Problem& problem, const GridConfig& config);
[[nodiscard]] Planner megatron_planner();

// The search over Megatron's whole grid: every degree, sequence parallelism, micro-batch, chunks, equal and balanced stages, exchanges of
// tokens, recomputation and ZeRO stage. Sketches of the layers bound it and say what is likely to be quick. A local search from the
// likeliest of each kind also makes the choices that the grid leaves out; what bounds then leave in front of the best is estimated, and of
// all that is estimated the best few are simulated whole, those first that differ from each other in more than recomputation or ZeRO.
// Plain data parallelism is simulated in any case.
struct MegatronSearchConfig {
  static constexpr Effort kEffort{base::Seconds(5), 800};
  SearchLimits budget = kEffort.least;
  int simulate_best = 16;  // ranked candidates that are simulated whole
  Wishes wishes;
};

// The objective is the simulated iteration time: never worse than that of plain data parallelism where that fits into memory, unless the
// time was up. Optimal: all candidates that fit into memory were simulated.
[[nodiscard]] SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config, const SearchContext& context);
[[nodiscard]] Planner megatron_search_planner();

}  // namespace search
