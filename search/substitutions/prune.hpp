#pragma once
// Equations that say something new: what is no renaming and no special case of smaller ones.

#include <cstdint>
#include <vector>

#include "search/substitutions/instance.hpp"

namespace substitutions {

struct Pruned {
  std::vector<Equation> equations;                    // fewest operators first, then by text
  std::int64_t renamed = 0, common = 0, implied = 0;  // dropped: equal up to names; a kept one on operators' results; with variables equal
};
// Deterministic. Names of variables are made short where that leaves them unique.
[[nodiscard]] Pruned prune(std::vector<Equation> equations);

}  // namespace substitutions
