#pragma once
// The passes that an iteration is made of, and where in the iteration a micro-batch's backward pass lies.

#include <cstdint>

#include "base/by_enum.hpp"

namespace sim {

// backward: gradients of inputs and weights. inputs, weights: the same in two passes, where the schedule runs them apart.
enum class Pass : std::uint8_t { forward, backward, inputs, weights, update };

// Backward passes differ by position: the first micro-batch's gradients are kept as they are, later ones are added to them, and the last
// one's sums are final. `only`: the iteration has one micro-batch, which is first and last.
enum class MicroBatchPosition : std::uint8_t { only, first, middle, last };

template <class T>
using ByPosition = base::ByEnum<MicroBatchPosition, MicroBatchPosition::last, T>;

// Requires: 0 <= micro_batch < micro_batches.
[[nodiscard]] constexpr MicroBatchPosition position_of(int micro_batch, int micro_batches) {
  if (micro_batches == 1) return MicroBatchPosition::only;
  if (micro_batch == 0) return MicroBatchPosition::first;
  return micro_batch == micro_batches - 1 ? MicroBatchPosition::last : MicroBatchPosition::middle;
}

// Whether the gradients are complete after the backward pass at this position.
[[nodiscard]] constexpr bool is_final(MicroBatchPosition p) { return p == MicroBatchPosition::only || p == MicroBatchPosition::last; }

}  // namespace sim
