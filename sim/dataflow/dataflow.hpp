#pragma once
// What a simulation derives from a plan once: who reads whose tensors and where they lie, and who adds up gradients with whom. It does not
// depend on the plan's recomputation or ZeRO stage.

#include "sim/dataflow/flow_graph.hpp"
#include "sim/dataflow/synchronisation.hpp"

namespace sim {

struct Dataflow {
  FlowGraph flow;
  Synchronisation synchronisation;
};

// Requires: pcg::violations(plan) is empty.
// Cost: O(nodes), and O(points) for each that is laid out otherwise than all before it.
[[nodiscard]] Dataflow dataflow_of(const pcg::Plan& plan);

}  // namespace sim
