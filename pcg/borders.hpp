#pragma once
// What the kernels of a convolution or pool read whose images are cut by rows or columns: its piece, and the borders from its neighbours.

#include <span>
#include <vector>

#include "pcg/parallel.hpp"

namespace pcg {

// Pieces of the inputs at the point that holds most: one with a neighbour on either side, where there are three blocks or more; else the
// one that gets the larger border. All other operators' pieces are as they are. What comes in is internal_collectives().
[[nodiscard]] std::vector<TensorShape> pieces_with_borders(const Operator& op, const Sharding& sharding,
                                                           std::span<const TensorShape> inputs);

}  // namespace pcg
