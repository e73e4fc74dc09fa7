#pragma once
// The kernels of an operator's forward pass at one shard.

#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/work/kernel.hpp"

namespace pcg {

// `inputs` and `outputs` are the shapes of one shard. Sources and reshapes, which move nothing, give no kernel.
[[nodiscard]] std::vector<Kernel> forward_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                  std::span<const TensorShape> outputs, Precision p);

}  // namespace pcg
