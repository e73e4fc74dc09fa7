#pragma once
// What the library that brings tokens to their experts, and back, asks of the kernels that put them in order (pcg::Dispatch). Internal to
// sim/pricing.

#include <cstdint>
#include <vector>

#include "sim/pricing/node_kernels.hpp"

namespace sim {

// Writes into `shape` what the node's kernels depend on there. Requires: the node computes.
void exchange_tokens(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, NodeShape& shape);

// Changes the kernels of a dispatch or a combine in either pass; leaves those of all other nodes. `makes_tokens`: the pass ends with tokens
// of the rank's own, as combine does forward and dispatch backward.
void bring_tokens(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                  const profiles::FrameworkProfile& framework, bool makes_tokens);

}  // namespace sim
