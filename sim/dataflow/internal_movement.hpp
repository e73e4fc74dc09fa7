#pragma once
// Movements inside an operator that is cut along a loop of Cut::internal: gathers before its kernels, reductions, halos, and the hops of
// rings that overlap with its kernels.

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
    // A ring in place of a gather (pcg::KeyExchange): each point of a line sends a block to the next, `hops` times. Forward: of keys and
    // values. Backward: the same again, and as often blocks of their gradients.
    Movement hop;
    std::size_t hops = 0;
  };
  Side forward, backward;
};

// Whether the keys and values of others come to an attention whose positions are cut block by block.
[[nodiscard]] bool has_ring(const pcg::Plan& plan, const pcg::Attention& op);

// Requires: the node computes.
// Cost: O(internal collectives x points).
[[nodiscard]] InternalMovements internal_movements(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

}  // namespace sim
