#pragma once
// The free sizes that one operator carries.

#include <cstdint>
#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {

// Returns the operator with its free sizes mapped. `before` and `after`: the shapes of its inputs in the old and the new graph.
[[nodiscard]] Operator with_sizes(const Operator& op, const SizeMap& map, std::span<const TensorShape> before,
                                  std::span<const TensorShape> after);
// Returns the free sizes that the operator carries, with the placeholders 0 and -1 of a Reshape as they stand.
[[nodiscard]] std::vector<std::int64_t> free_sizes(const Operator& op);

}  // namespace pcg
