#pragma once
// An operator as one shard of it runs.

#include <span>

#include "pcg/operators/operator.hpp"

namespace pcg {

// The operator as it stands at one shard: an attention or a state space layer with its heads divided as the shard's widths are, an
// attention with the keys of the whole sequence where that is cut (they are gathered). Other operators come back as they are: their sizes
// are read off the shapes. Call it before forward_kernels(), gradients' kernels and saved(), which cannot know how many heads a shard has.
[[nodiscard]] Operator shard_operator(const Operator& op, std::span<const TensorShape> whole_inputs,
                                      std::span<const TensorShape> shard_inputs);

}  // namespace pcg
