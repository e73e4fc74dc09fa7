#pragma once
// Which devices hold which blocks of a tensor. Internal to sim/dataflow.

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "sim/dataflow/layout.hpp"

namespace sim {

// A block of a tensor: an interval of each dim.
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

// Returns the common box of two boxes of one tensor; an empty one where they have nothing in common.
[[nodiscard]] Box intersect(const Box& a, const Box& b);
// The volume of what they have in common.
[[nodiscard]] double overlap(const Box& a, const Box& b);
// Where a shard lies.
[[nodiscard]] Box box_of(const pcg::ParallelShape& shape, const pcg::ShardIndex& shard);

// Blocks of a tensor and the devices that hold each, copies together; sums already added. Ascending by block, devices ascending. The
// places where blocks begin cut the tensor into cells, so that what lies in a box is found without looking at all blocks.
class Holders {
 public:
  struct Held {
    Box box;
    std::vector<base::DeviceId> devices;
  };

  // Devices in any order and several times.
  // Cost: O(n log n).
  explicit Holders(const std::map<Box, std::vector<base::DeviceId>>& blocks);
  // Requires: no sums.
  explicit Holders(const Layout& l);

  [[nodiscard]] const std::vector<Held>& all() const { return all_; }
  // Calls visit(held, volume in common) for every block that has something in common with a box, ascending.
  template <class Visit>
  void each_in(const Box& box, Visit visit) const {
    for (const std::uint32_t k : touching(box))
      if (const double v = overlap(all_[k].box, box); v > 0) visit(all_[k], v);
  }

 private:
  // Blocks in the cells that a box touches, ascending.
  [[nodiscard]] std::vector<std::uint32_t> touching(const Box& box) const;
  // The numbers of those cells.
  [[nodiscard]] std::vector<std::size_t> cells_of(const Box& box) const;

  std::vector<Held> all_;
  std::vector<std::vector<std::int64_t>> cuts_;      // per dim: where blocks begin, ascending
  std::vector<std::vector<std::uint32_t>> in_cell_;  // per cell, the last dim innermost
};

}  // namespace sim
