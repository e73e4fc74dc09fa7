#pragma once
// A block of a tensor: an interval of each dim. Internal to sim/dataflow.

#include <compare>
#include <cstdint>
#include <vector>

#include "pcg/sharding/parallel_shape.hpp"

namespace sim {

struct Extent {
  std::int64_t begin = 0, end = 0;
  auto operator<=>(const Extent&) const = default;
};

struct Box {
  std::vector<Extent> dims;
  auto operator<=>(const Box&) const = default;
  [[nodiscard]] double volume() const;
  [[nodiscard]] bool contains(const Box& other) const;
};

// Of two boxes of one tensor. An empty one where they have nothing in common.
[[nodiscard]] Box intersect(const Box& a, const Box& b);
// The volume of what they have in common.
[[nodiscard]] double overlap(const Box& a, const Box& b);
// Where a shard lies.
[[nodiscard]] Box box_of(const pcg::ParallelShape& shape, const pcg::ShardIndex& shard);

}  // namespace sim
