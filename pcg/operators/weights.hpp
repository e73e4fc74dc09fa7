#pragma once
// The trained weights that an operator has among its inputs.

#include <cstddef>
#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns one entry per input of a node with `input_count` inputs: true where the operator's definition puts a trained weight (linear:
// false, true, true). Binary, Concat and their like take a weight at any place: all false, and the graph alone tells.
[[nodiscard]] std::vector<bool> weight_slots(const Operator& op, std::size_t input_count);

// Returns the shapes that weights in these slots are made with, in slot order (an operator may accept another number of relative
// positions), given the shapes of the activations in order. try_: or why the activations do not fit. The other throws ShapeError then.
[[nodiscard]] base::Attempt<std::vector<TensorShape>> try_weight_shapes(const Operator& op, std::span<const TensorShape> activations);
[[nodiscard]] std::vector<TensorShape> weight_shapes(const Operator& op, std::span<const TensorShape> activations);

}  // namespace pcg
