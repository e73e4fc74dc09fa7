#pragma once
// What the emitters of a lowering work with: what they read, and what they number, price and build with. Each member keeps its own
// invariants; nothing of it is filled from here. Internal to sim/lowering.

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/events.hpp"
#include "sim/lowering/program_builder.hpp"

namespace sim {

struct Lowering {
  const pcg::Plan& plan;
  const FlowGraph& flow;
  const Synchronisation& synchronisation;
  const profiles::FrameworkProfile& framework;
  PriceList& prices;
  Interning& interned;
  ProgramBuilder& program;
  Events& events;
};

// Emission of one virtual stage's forward pass, of its backward pass at one position, and of the update of all stages.
void lower_forward(const Lowering& l, int stage);
void lower_backward(const Lowering& l, int stage, MicroBatchPosition position);
void lower_update(const Lowering& l);

}  // namespace sim
