#include "sim/dataflow/cast_gathers.hpp"

#include <algorithm>

#include "pcg/plan/low_precision.hpp"

namespace sim {
namespace {

bool is_low(const pcg::Plan& plan, std::uint32_t node) { return pcg::multiplies_low(plan, plan.pcg.nodes()[node]); }

bool grows(const Layout& from, const Layout& to) {
  return from.shape.sum == 1 && to.shape.sum == 1 && from.shape.shard().elements() < to.shape.shard().elements();
}

bool routes_tokens(const pcg::Operator& op) {
  return std::holds_alternative<pcg::MoeDispatch>(op) || std::holds_alternative<pcg::MoeCombine>(op);
}

}  // namespace

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
