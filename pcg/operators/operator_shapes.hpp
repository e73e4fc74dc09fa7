#pragma once
// Shape inference: from the shapes of an operator's inputs to those of its outputs.

#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns the shapes of all outputs, or why the operator refuses the inputs.
[[nodiscard]] base::Attempt<std::vector<TensorShape>> try_infer_shapes(const Operator& op, std::span<const TensorShape> inputs);
// Returns the shapes of all outputs. Throws: ShapeError when the operator refuses the inputs.
[[nodiscard]] std::vector<TensorShape> infer_shapes(const Operator& op, std::span<const TensorShape> inputs);

}  // namespace pcg
