#pragma once
// Choices that no cheapest answer has: dead-end elimination (Goldstein, Biophysical Journal 66, 1994). A choice is left out where another
// one of the same operator is no dearer whatever the neighbours choose:
//   cost(s) - cost(r) + sum over neighbours of min over their choices x of (pair(s, x) - pair(r, x)) >= 0.

#include <cstdint>
#include <vector>

#include "search/solve/operators/elimination.hpp"

namespace search {

// Returns: per operator, the choices that are left, ascending; at least one. The cheapest answer among them costs what the cheapest one of
// all does. `bytes`, of each choice: a choice is left out only where the other one takes no more of these either, so that the same is true
// of answers within any limit of bytes. Cost: O(rounds x pairs x c^2) for c choices that are left, held against a few cheap ones each.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> without_dead_ends(const ChoiceProblem& problem,
                                                                        const std::vector<std::vector<double>>* bytes = nullptr);

// The problem with only these choices left.
[[nodiscard]] ChoiceProblem restricted(const ChoiceProblem& problem, const std::vector<std::vector<std::uint32_t>>& left);

}  // namespace search
