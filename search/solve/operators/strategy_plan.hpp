#pragma once
// From a strategy per operator to a plan.

#include <vector>

#include "search/problem/problem.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

// Returns the plan of one stage, without name and summary, in which every operator of `graph`, a micro-batch that is the whole batch, runs
// as `choice` says, by node; null for sources. Any device of the cluster may run any of them.
[[nodiscard]] pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<const Strategy*>& choice);

}  // namespace search
