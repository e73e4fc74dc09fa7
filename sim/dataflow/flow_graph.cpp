#include "sim/dataflow/flow_graph.hpp"

#include <algorithm>

namespace sim {
namespace {

bool is_activation_of_input(const pcg::PcgNode& node) {
  const auto* unary = node.computes() ? std::get_if<pcg::Unary>(node.operation()) : nullptr;
  using enum pcg::Unary::Kind;
  return unary != nullptr && (unary->kind == gelu || unary->kind == relu2 || unary->kind == silu);
}

bool joins_or_cuts(const pcg::Operator& op) {
  return std::holds_alternative<pcg::Concat>(op) || std::holds_alternative<pcg::Split>(op) || std::holds_alternative<pcg::Slice>(op);
}

}  // namespace

bool keeps_activation_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::PcgNode& n = plan.pcg.nodes()[node];
  if (is_activation_of_input(n)) return true;
  const auto* binary = std::get_if<pcg::Binary>(n.operation());
  return binary != nullptr && binary->kind == pcg::Binary::Kind::multiply &&
         std::ranges::any_of(flow.origins[node], [&](pcg::TensorRef from) { return is_activation_of_input(plan.pcg.node(from.node)); });
}

bool trains_weights(const FlowGraph& flow, std::uint32_t node) {
  return std::ranges::any_of(flow.origins[node],
                             [&](pcg::TensorRef from) { return flow.stored[from.node.value] && flow.needs_gradient[from.node.value]; });
}

FlowGraph flow_graph(const pcg::Plan& plan) {
  const auto nodes = plan.pcg.nodes();
  FlowGraph g{PlanLayouts(plan), {}, {}, {}, {}, {}};
  g.origins.resize(nodes.size());
  g.uses.resize(nodes.size());
  g.needs_gradient.assign(nodes.size(), false);
  g.stored.assign(nodes.size(), false);
  g.stage_nodes.resize(static_cast<std::size_t>(plan.stages));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    g.uses[n].resize(nodes[n].outputs.size());
    // Nodes are in topological order: what lies behind a node is known when it is reached.
    g.needs_gradient[n] = nodes[n].is_trained();
    g.stored[n] = nodes[n].is_weight();
    if (!nodes[n].computes()) continue;
    g.stage_nodes[static_cast<std::size_t>(plan.stage[n])].push_back(static_cast<std::uint32_t>(n));
    for (std::size_t i = 0; i < nodes[n].inputs.size(); ++i) {
      const pcg::TensorRef from = origin(plan.pcg, nodes[n].inputs[i]);
      g.origins[n].push_back(from);
      g.uses[from.node.value][static_cast<std::size_t>(from.output)].push_back(
          {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(i)});
      if (g.needs_gradient[from.node.value]) g.needs_gradient[n] = true;
    }
    g.stored[n] = joins_or_cuts(*nodes[n].operation()) &&
                  std::ranges::all_of(g.origins[n], [&](pcg::TensorRef from) { return g.stored[from.node.value]; });
  }
  return g;
}

}  // namespace sim
