#pragma once
// Shape inference: from the shapes of an operator's inputs to those of its outputs and of its trained weights.

#include <cstddef>
#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns the shapes of all outputs, or why the operator refuses the inputs.
[[nodiscard]] base::Attempt<std::vector<TensorShape>> try_infer_shapes(const Operator& op, std::span<const TensorShape> inputs);
// Returns the shapes of all outputs. Throws: ShapeError when the operator refuses the inputs.
[[nodiscard]] std::vector<TensorShape> infer_shapes(const Operator& op, std::span<const TensorShape> inputs);

// Returns one entry per input of a node with `input_count` inputs: true where the operator's definition puts a trained weight (linear:
// false, true, true). Binary, Concat and their like take a weight at any place: all false, and the graph alone tells.
[[nodiscard]] std::vector<bool> weight_slots(const Operator& op, std::size_t input_count);

// Returns the shapes that weights in these slots are made with, in slot order (an operator may accept another number of relative
// positions), given the shapes of the activations in order. try_: or why the activations do not fit. The other throws ShapeError then.
[[nodiscard]] base::Attempt<std::vector<TensorShape>> try_weight_shapes(const Operator& op, std::span<const TensorShape> activations);
[[nodiscard]] std::vector<TensorShape> weight_shapes(const Operator& op, std::span<const TensorShape> activations);

}  // namespace pcg
