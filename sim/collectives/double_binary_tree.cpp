#include "sim/collectives/double_binary_tree.hpp"

#include <algorithm>

namespace sim {
namespace {

// An in-order binary tree: a rank's place is given by its lowest set bit; leaves are the odd ranks, the root is 0 with one child.
std::vector<int> in_order_tree(int n) {
  std::vector<int> parent(static_cast<std::size_t>(n), -1);
  for (int r = 1; r < n; ++r) {
    const int bit = r & -r;
    parent[static_cast<std::size_t>(r)] = (r & (2 * bit)) != 0 || r + bit >= n ? r - bit : r + bit;
  }
  return parent;
}

int height_of(const std::vector<int>& parent) {
  int height = 0;
  for (int r = 0; r < static_cast<int>(parent.size()); ++r) {
    int up = 0;
    for (int at = r; parent[static_cast<std::size_t>(at)] >= 0; at = parent[static_cast<std::size_t>(at)]) ++up;
    height = std::max(height, up);
  }
  return height;
}

}  // namespace

TwoTrees double_binary_tree(int n) {
  TwoTrees t;
  t.first = in_order_tree(n);
  t.height = height_of(t.first);
  // The second tree is the first with the ranks mirrored (n even) or moved on by one (n odd), which turns odd ranks into even ones.
  t.second.assign(t.first.size(), -1);
  const auto twin = [n](int r) { return n % 2 == 0 ? n - 1 - r : (r + 1) % n; };
  for (int r = 0; r < n; ++r)
    if (const int p = t.first[static_cast<std::size_t>(r)]; p >= 0) t.second[static_cast<std::size_t>(twin(r))] = twin(p);
  return t;
}

}  // namespace sim
