#pragma once
// Step by step from good plans of Megatron's grid to better ones nearby.

#include <cstddef>

#include "search/planners/megatron/candidates.hpp"

namespace search {

// Starts from the best of each kind of plan by its bound: with or without tensor ranks, context, pipeline, and experts
// within a domain or over as many ranks as can be. A step is a neighbour or another choice (moves.hpp) with a better estimate; where there
// is none, the plan is simulated. Ends when the budget is spent. Returns: the number of steps that were estimated.
std::size_t search_locally(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds, Candidates& candidates,
                           Budget& budget);

}  // namespace search
