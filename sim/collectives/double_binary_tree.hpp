#pragma once
// Double binary trees: two trees over the same ranks in which no rank but a root has children in both, so that all ranks send equally
// much (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).

#include <vector>

namespace sim {

struct TwoTrees {
  std::vector<int> first, second;  // parent of each rank; -1: the root
  int height = 0;                  // hops from the farthest rank to its root
};

// Over ranks 0 .. n-1. Both trees are balanced, of height ceil(log2 n).
// Requires: n >= 1.
// Cost: O(n log n).
[[nodiscard]] TwoTrees double_binary_tree(int n);

}  // namespace sim
