#pragma once
// Shape inference: from the shapes of an operator's inputs to those of its outputs.

#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns the shapes of all outputs. Throws: ShapeError with one sentence when the operator refuses its inputs.
[[nodiscard]] std::vector<TensorShape> infer_shapes(const Operator& op, std::span<const TensorShape> inputs);

}  // namespace pcg
