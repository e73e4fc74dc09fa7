#pragma once
// What moves inside an operator that is cut along a loop of Cut::internal: gathers before its kernels, reductions and halos.

#include <cstdint>
#include <vector>

#include "sim/dataflow/flow_graph.hpp"
#include "sim/dataflow/movement.hpp"

namespace sim {

// The movements of one node, in the order of pcg::internal_collectives. Each has one round: a collective, or messages between
// neighbours, for every line of points that differ in the loop's coordinate alone.
struct InternalMovements {
  struct Side {
    std::vector<Movement> before, after;  // the kernels of the pass
  };
  Side forward, backward;
};

// Requires: the node computes.
// Cost: O(internal collectives x points).
[[nodiscard]] InternalMovements internal_movements(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

}  // namespace sim
