#pragma once
// The kernels of an operator's forward pass at one shard.

#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/work/kernel.hpp"

namespace pcg {

// `inputs` and `outputs` are the shapes of one shard. What moves nothing gives no kernel: sources, reshapes,
// splits, slices, summands, identity, dropout of 0.
[[nodiscard]] std::vector<Kernel> forward_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                  std::span<const TensorShape> outputs, Precision p);

}  // namespace pcg
