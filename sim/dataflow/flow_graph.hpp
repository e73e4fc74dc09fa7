#pragma once
// Who reads whose tensors in a plan, chains of parallel operators skipped: what forward and backward lowering both need.

#include <cstdint>
#include <vector>

#include "sim/dataflow/layout.hpp"

namespace sim {

// Input `input` of node `consumer` reads an output; through parallel operators or directly.
struct Use {
  std::uint32_t consumer = 0;
  std::uint32_t input = 0;
  auto operator<=>(const Use&) const = default;
};

struct FlowGraph {
  PlanLayouts layouts;
  std::vector<std::vector<pcg::TensorRef>> origins;  // [node][input]: the computing node's or source's tensor behind it
  std::vector<std::vector<std::vector<Use>>> uses;   // [node][output]: ascending
  std::vector<bool> needs_gradient;                  // per node: its outputs' gradients are wanted (a trained weight lies behind it)
  // Per node: a weight, or one that joins or cuts weights and nothing else: these are stored as they are read, and trained so.
  std::vector<bool> stored;
  std::vector<std::vector<std::uint32_t>> stage_nodes;  // the computing nodes of each virtual stage, ascending
};

[[nodiscard]] FlowGraph flow_graph(const pcg::Plan& plan);

// The node is an activation function that needs what it read for its backward pass, or the product of a gated unit with one.
[[nodiscard]] bool keeps_activation_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);
// Whether gradients are made of weights that a node reads: not all are frozen.
[[nodiscard]] bool trains_weights(const FlowGraph& flow, std::uint32_t node);

}  // namespace sim
