#pragma once
// Megatron-LM's grid by hand (Narayanan et al., SC'21, arXiv 2104.04473): the user gives the degrees.

#include "search/grid/grid_plan.hpp"
#include "search/problem/planner.hpp"

namespace search {

// Refuses as GridPlanner::plan does.
[[nodiscard]] Attempt<pcg::Plan> megatron_plan(GridPlanner& planner, const GridConfig& config);
[[nodiscard]] Attempt<pcg::Plan> megatron_plan(const Problem& problem, const GridConfig& config);
[[nodiscard]] Planner megatron_planner();

}  // namespace search
