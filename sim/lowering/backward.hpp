#pragma once
// The backward pass of one virtual stage. Internal to sim/lowering.

#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// A backward pass, and the events by which it says that gradients are synchronised: the update waits for all of them.
struct BackwardBlock {
  Block block;
  Block weights;  // the gradients of weights, where these have a pass of their own
  std::vector<EventId> synchronised;
};

// split: in two passes. Requires: all forward passes, and the backward passes of higher stages, were lowered before.
[[nodiscard]] BackwardBlock lower_backward(const Lowering& l, int stage, MicroBatchPosition position, bool split);

}  // namespace sim
