#pragma once
// A smooth function of three sizes: values at the nodes of a small grid over the logarithms of the sizes, linear in between, flat outside.
// It holds what a model leaves over.

#include <array>
#include <cstddef>
#include <vector>

namespace profiles {

using LogPoint = std::array<double, 3>;  // base-2 logarithms of three sizes

struct LogGrid {
  std::array<std::vector<double>, 3> axes;  // ascending, at least two nodes each
  std::vector<double> values;               // one per node, the last axis runs fastest; empty: 0 everywhere

  [[nodiscard]] std::size_t nodes() const { return axes[0].size() * axes[1].size() * axes[2].size(); }
  [[nodiscard]] bool covers(const LogPoint& x) const;
  // Returns the value at a point. Cost: O(nodes of one axis).
  [[nodiscard]] double at(const LogPoint& x) const;
  bool operator==(const LogGrid&) const = default;
};

// The eight nodes around a point and their weights, which add up to 1: at(x) is their weighted sum.
struct Corners {
  std::array<std::size_t, 8> node;
  std::array<double, 8> weight;
};
[[nodiscard]] Corners corners(const LogGrid& g, const LogPoint& x);

}  // namespace profiles
