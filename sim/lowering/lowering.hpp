#pragma once
// What the emitters of a lowering work with: what they read, and what they number, price and build with. Each member keeps its own
// invariants; nothing of it is filled from here. Internal to sim/lowering.

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/events.hpp"
#include "sim/lowering/program_builder.hpp"
#include "sim/program/variant.hpp"

namespace sim {

struct Lowering {
  const pcg::Plan& plan;
  Variant variant;  // instead of the plan's own
  const FlowGraph& flow;
  const Synchronisation& synchronisation;
  const profiles::FrameworkProfile& framework;
  PriceList& prices;
  Interning& interned;
  Deliveries& deliveries;
  GradientSums& gradients;
  ProgramBuilder& program;
  Events& events;
};

// A backward pass, and the events by which it says that gradients are synchronised: the update waits for all of them.
struct BackwardBlock {
  Block block;
  std::vector<EventId> synchronised;
};

// One virtual stage's forward pass, its backward pass at one position, and the update of all stages.
// Requires: a forward pass is lowered before those that wait for it: lower stages first; backward passes, and all forward passes before
// them: higher stages first; the update last.
[[nodiscard]] Block lower_forward(const Lowering& l, int stage);
[[nodiscard]] BackwardBlock lower_backward(const Lowering& l, int stage, MicroBatchPosition position);
[[nodiscard]] Block lower_update(const Lowering& l, const std::vector<EventId>& synchronised);

}  // namespace sim
