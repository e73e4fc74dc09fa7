#include "sim/dataflow/flow_graph.hpp"

#include <algorithm>

#include "pcg/plan/low_precision.hpp"

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

bool is_projection(const pcg::PcgNode& n) {
  return n.computes() && (std::holds_alternative<pcg::Linear>(*n.operation()) || std::holds_alternative<pcg::ExpertLinear>(*n.operation()));
}

bool is_activated(const pcg::Plan& plan, const FlowGraph& flow, const pcg::PcgNode& product, std::uint32_t node, std::size_t input) {
  const pcg::TensorRef from = flow.origins[node][input];
  if (product.inputs[input] != from || flow.uses[from.node.value][0].size() != 1) return false;
  const pcg::PcgNode& maker = plan.pcg.node(from.node);
  const auto* activation = maker.computes() ? std::get_if<pcg::Unary>(maker.operation()) : nullptr;
  // Others have their derivative from the output.
  return activation != nullptr && (activation->kind == pcg::Unary::Kind::gelu || activation->kind == pcg::Unary::Kind::silu);
}

// The only node that reads what `node` makes.
std::optional<Use> only_use(const FlowGraph& flow, std::uint32_t node) {
  if (flow.uses[node].size() != 1 || flow.uses[node][0].size() != 1) return std::nullopt;
  return flow.uses[node][0].front();
}

bool is_low(const pcg::Plan& plan, std::uint32_t node) { return pcg::multiplies_low(plan, plan.pcg.nodes()[node]); }

bool grows(const Layout& from, const Layout& to) {
  return from.shape.sum == 1 && to.shape.sum == 1 && from.shape.shard().elements() < to.shape.shard().elements();
}

bool routes_tokens(const pcg::Operator& op) {
  return std::holds_alternative<pcg::MoeDispatch>(op) || std::holds_alternative<pcg::MoeCombine>(op);
}

}  // namespace

bool saves_activation_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
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
    // Nodes are in topological order: a node's sources are known when it is reached.
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

std::optional<std::size_t> activated_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::PcgNode& product = plan.pcg.nodes()[node];
  const auto* binary = product.computes() ? std::get_if<pcg::Binary>(product.operation()) : nullptr;
  if (binary == nullptr || binary->kind != pcg::Binary::Kind::multiply) return std::nullopt;
  for (std::size_t input = 0; input < flow.origins[node].size(); ++input)
    if (is_activated(plan, flow, product, node, input)) return input;
  return std::nullopt;
}

bool is_activated_gate(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const std::optional<Use> use = only_use(flow, node);
  return use && activated_input(plan, flow, use->consumer) == use->input;
}

bool is_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  if (!is_projection(plan.pcg.nodes()[node])) return false;
  const std::optional<Use> use = only_use(flow, node);
  if (!use) return false;
  const std::optional<std::size_t> gated = activated_input(plan, flow, use->consumer);
  if (!gated || *gated == use->input) return false;
  const std::uint32_t activation = flow.origins[use->consumer][*gated].node.value, gate = flow.origins[activation][0].node.value;
  return is_projection(plan.pcg.nodes()[gate]) && only_use(flow, gate) && flow.origins[gate][0] == flow.origins[node][0];
}

bool has_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t gate) {
  const pcg::TensorRef read = flow.origins[gate][0];
  return std::ranges::any_of(flow.uses[read.node.value][static_cast<std::size_t>(read.output)], [&](const Use& use) {
    if (use.consumer == gate || !is_second_projection(plan, flow, use.consumer)) return false;
    const std::uint32_t product = flow.uses[use.consumer][0].front().consumer;
    const pcg::TensorRef activated = flow.origins[product][*activated_input(plan, flow, product)];
    return flow.origins[activated.node.value][0].node.value == gate;
  });
}

bool is_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, Use reader) {
  if (reader.input != 0 || !is_low(plan, reader.consumer)) return false;
  const pcg::TensorRef from = flow.origins[reader.consumer][0];
  const pcg::PcgNode& maker = plan.pcg.node(from.node);
  if (!maker.computes() || routes_tokens(*maker.operation()) || plan.stage[from.node.value] != plan.stage[reader.consumer]) return false;
  const Layout& wanted = flow.layouts[reader.consumer].inputs[0];
  if (!grows(flow.layouts[from.node.value].outputs[static_cast<std::size_t>(from.output)], wanted)) return false;
  return std::ranges::all_of(flow.uses[from.node.value][static_cast<std::size_t>(from.output)], [&](const Use& use) {
    return (use.input == 0 && is_low(plan, use.consumer)) || flow.layouts[use.consumer].inputs[use.input] != wanted;
  });
}

bool is_gradient_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t product) {
  if (!is_low(plan, product) || flow.uses[product][0].size() != 1) return false;
  const Use& use = flow.uses[product][0].front();
  if (plan.stage[use.consumer] != plan.stage[product] || routes_tokens(*plan.pcg.nodes()[use.consumer].operation())) return false;
  return grows(flow.layouts[use.consumer].input_gradients[use.input], flow.layouts[product].output_gradients[0]);
}

}  // namespace sim
