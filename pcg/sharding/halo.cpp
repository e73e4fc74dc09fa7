#include "pcg/sharding/halo.hpp"

#include <algorithm>
#include <array>

#include "pcg/sharding/internal_collectives.hpp"

namespace pcg {

std::vector<TensorShape> shards_with_halos(const Operator& op, const IterationSpace& space, const Sharding& sharding,
                                           std::span<const TensorShape> inputs) {
  std::vector<TensorShape> shards;
  for (std::size_t i = 0; i < inputs.size(); ++i) shards.push_back(input_shape(space, sharding, i, inputs[i]).shard());
  if (!std::holds_alternative<Conv2d>(op) && !std::holds_alternative<Pool2d>(op)) return shards;
  std::array<std::int64_t, 4> before{}, behind{};
  for (const InternalCollective& c : internal_collectives(op, space, sharding, inputs)) {
    if (c.backward) continue;
    const auto dim = static_cast<std::size_t>(std::ranges::find(space.inputs[0], c.loop) - space.inputs[0].begin());
    (c.kind == InternalCollective::Kind::halo_before ? before : behind)[dim] = c.shape.sizes[dim];
  }
  for (const std::size_t dim : {2U, 3U}) {
    const int loop = space.inputs[0][dim];
    const bool inside = loop >= 0 && sharding.degrees[static_cast<std::size_t>(loop)] > 2;
    shards[0].sizes[dim] += inside ? before[dim] + behind[dim] : std::max(before[dim], behind[dim]);
  }
  return shards;
}

}  // namespace pcg
