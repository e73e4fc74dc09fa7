#include "sim/dataflow/gated_unit.hpp"

namespace sim {
namespace {

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

}  // namespace

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

}  // namespace sim
