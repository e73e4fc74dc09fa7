#pragma once
// What the kernels of a convolution or pool read whose images are cut by rows or columns: its shard, and the halos from its neighbours.

#include <span>
#include <vector>

#include "pcg/sharding/parallel.hpp"

namespace pcg {

// Shards of the inputs at the point that holds most: one with a neighbour on either side, where there are three blocks or more; else the
// one that gets the larger halo. All other operators' shards are as they are. What comes in is internal_collectives().
[[nodiscard]] std::vector<TensorShape> shards_with_halos(const Operator& op, const Sharding& sharding, std::span<const TensorShape> inputs);

}  // namespace pcg
