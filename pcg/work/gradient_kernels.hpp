#pragma once
// The kernels of an operator's backward pass at one shard: the gradient of the inputs and the gradient of the weights apart.

#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/work/kernel.hpp"

namespace pcg {

// Gradient of the activations. needed[i]: the gradient of input i is wanted (false for data, labels); weight slots are skipped (but for
// attention, whose kernels give all gradients together), a weight elsewhere (a position table that is added) counts as an activation. Ask
// even if nothing is needed: the gradient of a fused activation comes first, and the weight gradient reads it. Adding up the gradients of a
// tensor with several readers is not counted here.
[[nodiscard]] std::vector<Kernel> input_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                         std::span<const TensorShape> outputs, const std::vector<bool>& needed,
                                                         Precision p);
[[nodiscard]] std::vector<Kernel> weight_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                          std::span<const TensorShape> outputs, Precision p);
// Whether the gradient of the operator's weights is a product of its own: schedules that leave gradients of weights for later leave these,
// while those of norms and tables are made together with the gradients of inputs.
[[nodiscard]] bool multiplies_for_weights(const Operator& op);

}  // namespace pcg
