#pragma once
// The backward pass of one virtual stage. Internal to sim/lowering.

#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// A backward pass, and the events by which it says that gradients are synchronised: the update waits for all of them.
struct BackwardBlock {
  Block block;
  std::vector<EventId> synchronised;
};

// Requires: all forward passes, and the backward passes of higher stages, were lowered before.
[[nodiscard]] BackwardBlock lower_backward(const Lowering& l, int stage, MicroBatchPosition position);

}  // namespace sim
