#pragma once
// Pruning: the most general forms of equations, without renamings and special cases of each other.

#include <cstdint>
#include <vector>

#include "search/rules/generation/instance.hpp"

namespace rules {

struct Pruned {
  std::vector<Equation> equations;                    // fewest operators first, then fewest variables, then the shorter text
  std::int64_t renamed = 0, common = 0, implied = 0;  // dropped: equal up to names; a kept one on operators' results; with variables equal
  std::int64_t refuted = 0;                           // false at more sizes than it was found with
};
// Returns the equations that say something new and can be written as rules (`expressible`; the others are in no count). Deterministic.
// Names of variables are made short where that leaves them unique.
[[nodiscard]] Pruned prune(const std::vector<Equation>& equations);

}  // namespace rules
