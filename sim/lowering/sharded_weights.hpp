#pragma once
// ZeRO-3: weights are gathered block by block before they are used, at most as many blocks ahead as profiles::prefetch_units says of the
// computation, and freed after. With n units ahead the gather of block k of a pass may start when block k - n - 1 of the pass has been
// computed: n + 1 blocks are whole at most. Blocks that the plan does not shard and that read nothing sharded do not count. A pass does
// not wait for the one before it. Internal to sim/lowering.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

class WeightGathers {
 public:
  // `nodes` in the order in which they are emitted. Does nothing unless the variant shards weights.
  WeightGathers(const Lowering& l, Block& block, std::span<const std::uint32_t> nodes);
  // Call before a node's items are emitted: gathers of a block that begins here. Returns the items to wait for.
  std::vector<std::uint32_t> before(std::uint32_t node);

 private:
  int block_of(std::uint32_t node) const { return l_.plan.pcg.nodes()[node].block; }
  const Lowering& l_;
  Block& block_;
  std::span<const std::uint32_t> nodes_;
  int current_ = -1;
  bool is_unit_ = false;             // the current block counts
  std::vector<std::uint32_t> ends_;  // last compute item of each block so far
};

}  // namespace sim
