#pragma once
// What the emitters of a lowering work with: what they read, and what they number, cost and build with. Each member keeps its own
// invariants; nothing of it is filled from here. Internal to sim/lowering.

#include <vector>

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/events.hpp"
#include "sim/lowering/program_builder.hpp"
#include "sim/memory/saved_by_block.hpp"
#include "sim/program/variant.hpp"

namespace sim {

struct Lowering {
  const pcg::Plan& plan;
  Variant variant;  // instead of the plan's own
  const FlowGraph& flow;
  const Synchronisation& synchronisation;
  const profiles::FrameworkProfile& framework;
  const topology::Cluster& cluster;
  profiles::Overlaps overlap;  // the plan's, else the framework's
  CostTable& costs;
  Interning& interned;
  Deliveries& deliveries;
  GradientSums& gradients;
  ProgramBuilder& program;
  Events& events;
  const std::vector<OffloadedBlocks>& offloaded;  // by stage: offloaded_activations(); empty where nothing is
};

}  // namespace sim
