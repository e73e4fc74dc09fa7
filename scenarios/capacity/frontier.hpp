#pragma once
// The Pareto frontier of two figures of which less is better.

#include <span>
#include <vector>

namespace scenarios {

struct Figures {
  double cost = 0, time = 0;
  bool operator==(const Figures&) const = default;
};

// Returns, in the order of the figures, whether each is on the frontier: no other is at most as large in both and smaller in one. Equal
// ones are on it together. Requires: finite. Cost: O(n log n).
[[nodiscard]] std::vector<bool> on_frontier(std::span<const Figures> all);

}  // namespace scenarios
