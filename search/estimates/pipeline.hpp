#pragma once
// Runs the blocks of a program in the order of the plan's schedule, each block as a whole. Private to this folder.

#include "search/estimates/replay.hpp"

namespace search {

// The iteration time of the program of a plan.
// Cost: O(items + stages x micro-batches x events between stages).
[[nodiscard]] double iteration_s(const sim::Program& program, const ItemCosts& costs, const pcg::Plan& plan);

}  // namespace search
