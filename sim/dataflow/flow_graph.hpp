#pragma once
// Who reads whose tensors in a plan, chains of parallel operators skipped: what forward and backward lowering both need.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
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
  std::vector<std::vector<pcg::TensorRef>> origins;  // [node][input]: the computing node's or source's tensor that it comes from
  std::vector<std::vector<std::vector<Use>>> uses;   // [node][output]: ascending
  std::vector<bool> needs_gradient;                  // per node: its outputs' gradients are wanted (they depend on a trained weight)
  // Per node: a weight, or one that joins or cuts weights and nothing else: these are stored as they are read, and trained so.
  std::vector<bool> stored;
  std::vector<std::vector<std::uint32_t>> stage_nodes;  // the computing nodes of each virtual stage, ascending
};

[[nodiscard]] FlowGraph flow_graph(const pcg::Plan& plan);

// Returns the operator of a node where it is of this kind; nullptr: it is another, or a parallel operator.
template <class Operator>
[[nodiscard]] const Operator* operation_of(const pcg::Plan& plan, std::uint32_t node) {
  const pcg::Operator* op = plan.pcg.nodes()[node].operation();
  return op == nullptr ? nullptr : std::get_if<Operator>(op);
}

// Calls visit(node, input, weight) for each weight that some nodes read, once: where it is read first.
template <class Visit>
void each_weight(const pcg::Plan& plan, const FlowGraph& flow, std::span<const std::uint32_t> nodes, Visit visit) {
  std::set<pcg::TensorRef> seen;
  for (const std::uint32_t n : nodes)
    for (std::uint32_t i = 0; i < flow.origins[n].size(); ++i) {
      const pcg::TensorRef from = flow.origins[n][i];
      const pcg::PcgNode& weight = plan.pcg.node(from.node);
      if (weight.is_weight() && seen.insert(from).second) visit(n, i, weight);
    }
}

// The node is an activation function that needs what it read for its backward pass, or the product of a gated unit with one.
[[nodiscard]] bool saves_activation_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);
// Whether gradients are made of weights that a node reads: not all are frozen.
[[nodiscard]] bool trains_weights(const FlowGraph& flow, std::uint32_t node);

// Gated linear units (Shazeer, arXiv 2002.05202): an activated gate times a second projection of the same tensor. Frameworks run their
// parts together: one kernel for activation and product, one product for gate and second projection.
// Returns the input of a multiplication that is an activation (GELU or SiLU) which nothing else reads and which does not move in between: a
// kernel that multiplies can compute it again. nullopt: there is none.
// Cost: O(1).
[[nodiscard]] std::optional<std::size_t> activated_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Whether a node is such an activation.
[[nodiscard]] bool is_activated_gate(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Whether a node is the second projection of a gated unit: a linear layer or experts' that reads the same tensor as the gate's.
[[nodiscard]] bool is_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);
// Whether it is the gate's, of whose product the second one may be a part.
[[nodiscard]] bool has_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t gate);

// Tensors that low precision casts before tensor parallelism gathers them, so that fewer bytes travel (Transformer Engine,
// docs/features/low_precision_training/performance_considerations, "sequence parallelism"; casts of parts need one scale for all of them,
// whose reduction of a number is left out of account).
// The tensor that input `reader.input` of a product reads is made in shards by an operator of the same stage, and gathered for such
// products alone. Tokens for experts are dispatched in bf16.
[[nodiscard]] bool is_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, Use reader);
// The gradient of a product's output comes as shards from its one reader, of the same stage, and is gathered for the product.
[[nodiscard]] bool is_gradient_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t product);

}  // namespace sim
