#pragma once
// The shards that an operator's kernels read. Where the images of a convolution or a pool are cut by rows or columns, its kernels read the
// halos of the neighbours too.

#include <span>
#include <vector>

#include "pcg/sharding/sharding.hpp"

namespace pcg {

// Returns the shapes of the inputs' shards at the point that holds most: one with a neighbour on either side where there are three blocks
// or more, else the one that gets the larger halo. internal_collectives() says how the halos come in.
// Requires: `inputs` are whole shapes and space is iteration_space(op, inputs).
[[nodiscard]] std::vector<TensorShape> shards_with_halos(const Operator& op, const IterationSpace& space, const Sharding& sharding,
                                                         std::span<const TensorShape> inputs);

}  // namespace pcg
