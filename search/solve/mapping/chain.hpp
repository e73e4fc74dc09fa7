#pragma once
// Parts of a graph one after another, where each begins at the operator that ends the one before: the best variant of every part and the
// best placement of all operators together, by dynamic programming over the ways in which those operators run.

#include <optional>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/solve/mapping/mapping.hpp"

namespace search {

// Variants of a part, which compute the same and begin and end with the same kinds of operators. Equal links may share them.
struct Link {
  std::vector<const Mapping::Part*> variants;  // at least one
};

struct PlacedLink {
  std::size_t variant = 0;
  std::vector<Placed> placed;  // by the variant's operators
};

struct PlacedChain {
  std::vector<PlacedLink> links;
  double seconds = 0;
};

// Cost: O(links x variants x c^2) beside the mapping's costs, for each round of movements that are found out.
// Returns: nullopt where the time was up first.
[[nodiscard]] std::optional<PlacedChain> place_chain(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block,
                                                     const Budget& budget);

}  // namespace search
