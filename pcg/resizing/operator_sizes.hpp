#pragma once
// The free sizes that one operator carries.

#include <span>

#include "pcg/operators/operator.hpp"
#include "pcg/resizing/new_sizes.hpp"

namespace pcg {

// Returns the operator with its free sizes replaced; it asks for each of them. `before` and `after`: the shapes of its inputs in the old
// and the new graph.
[[nodiscard]] Operator with_sizes(const Operator& op, NewSizes& sizes, std::span<const TensorShape> before,
                                  std::span<const TensorShape> after);

}  // namespace pcg
