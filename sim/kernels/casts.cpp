#include "sim/kernels/node_kernels.hpp"

#include <algorithm>
#include <array>

namespace sim {
namespace {

// What the kernel that makes an operand leaves of its cast.
Cast cast_after(const pcg::Operator& maker, const pcg::TrainingConfig& training) {
  const bool is_norm = std::holds_alternative<pcg::LayerNorm>(maker);
  const auto* unary = std::get_if<pcg::Unary>(&maker);
  const auto* binary = std::get_if<pcg::Binary>(&maker);
  const bool is_activation =
      (binary != nullptr && binary->kind == pcg::Binary::Kind::multiply) || (unary != nullptr && unary->kind != pcg::Unary::Kind::identity);
  if (!is_norm && !is_activation) return Cast::complete;
  if (training.precision == pcg::Precision::mxfp8) return is_activation ? Cast::scales : Cast::complete;
  if (training.precision != pcg::Precision::fp8) return Cast::complete;
  switch (training.fp8_recipe) {
    case pcg::Fp8Scaling::delayed: return Cast::scales;
    case pcg::Fp8Scaling::current: return Cast::kernel;
    case pcg::Fp8Scaling::blockwise: break;
  }
  return Cast::complete;
}

bool makes_logits(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  return std::ranges::any_of(flow.uses[node][0], [&](const Use& use) {
    return std::holds_alternative<pcg::CrossEntropy>(*plan.pcg.nodes()[use.consumer].operation());
  });
}

bool is_low(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  return pcg::multiplies_low(plan, plan.pcg.nodes()[node]) && !makes_logits(plan, flow, node);
}

// The first product that reads a tensor casts it for all.
Cast cast_of_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::TensorRef from = flow.origins[node][0];
  const pcg::PcgNode& maker = plan.pcg.node(from.node);
  for (const Use& use : flow.uses[from.node.value][static_cast<std::size_t>(from.output)]) {
    if (!is_low(plan, flow, use.consumer)) continue;
    if (use.consumer != node) return Cast::none;
    return maker.computes() ? cast_after(*maker.operation(), plan.training) : Cast::complete;
  }
  return Cast::none;
}

// The gradient of an activation or of a factor is cast by the kernel that makes it; one that is handed on as it is, or summed up, is not.
// No norm makes the gradient of a product's output: its kernel does not cast.
Cast cast_of_gradient(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t product) {
  const std::vector<Use>& uses = flow.uses[product][0];
  if (uses.size() != 1) return Cast::complete;
  const pcg::Operator& reader = *plan.pcg.nodes()[uses.front().consumer].operation();
  return std::holds_alternative<pcg::LayerNorm>(reader) ? Cast::complete : cast_after(reader, plan.training);
}

Written written_for_products(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  if (flow.uses[node].size() != 1 || cast_after(*plan.pcg.nodes()[node].operation(), plan.training) != Cast::scales) return Written::bf16;
  const std::vector<Use>& uses = flow.uses[node][0];
  const auto low = std::ranges::count_if(uses, [&](const Use& use) { return is_low(plan, flow, use.consumer); });
  if (low == 0) return Written::bf16;
  return low == std::ssize(uses) ? Written::low : Written::both;
}

Written gradient_for_product(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  if (flow.origins[node].empty()) return Written::bf16;
  const pcg::TensorRef from = flow.origins[node][0];
  if (!plan.pcg.node(from.node).computes() || !is_low(plan, flow, from.node.value)) return Written::bf16;
  return cast_of_gradient(plan, flow, from.node.value) == Cast::scales ? Written::low : Written::bf16;
}

double share_of(const Layout& part, const Layout& whole) { return part.shard_elements() / whole.shard_elements(); }

pcg::Kernel pass(pcg::KernelKind kind, std::string_view name, double flops, double bytes) {
  return {.kind = kind, .name = name, .flops = base::Flops(flops), .bytes = base::Bytes(bytes)};
}

struct Names {
  std::string_view amax, cast, transpose, scales;
};
// In the order of Operand.
constexpr std::array kNames = {Names{"amax of an input", "cast of an input", "transpose of an input", "scales of an input"},
                               Names{"amax of a gradient", "cast of a gradient", "transpose of a gradient", "scales of a gradient"},
                               Names{"amax of a weight", "cast of a weight", "transpose of a weight", "scales of a weight"}};

}  // namespace

CastsOfNode casts_of(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns) {
  CastsOfNode c;
  if (!pcg::casts_products(plan.training.precision)) return c;
  c.copies_columns = copies_columns;
  c.low = is_low(plan, flow, node);
  if (!c.low) {
    c.output = written_for_products(plan, flow, node);
    c.made_gradient = gradient_for_product(plan, flow, node);
    return c;
  }
  c.input = cast_of_input(plan, flow, node);
  c.gradient = cast_of_gradient(plan, flow, node);
  if (is_gathered_cast(plan, flow, {node, 0})) {
    const pcg::TensorRef from = flow.origins[node][0];
    c.input_share = share_of(flow.layouts[from.node.value].outputs[static_cast<std::size_t>(from.output)], flow.layouts[node].inputs[0]);
  }
  if (is_gradient_gathered_cast(plan, flow, node)) {
    const Use& use = flow.uses[node][0].front();
    c.gradient_share = share_of(flow.layouts[use.consumer].input_gradients[use.input], flow.layouts[node].output_gradients[0]);
  }
  return c;
}

std::vector<pcg::Kernel> cast_kernels(Operand what, Cast cast, double elements, const pcg::OperandFormat& format, double share) {
  constexpr double kHalf = 2;
  const Names& names = kNames[static_cast<std::size_t>(what)];
  const double part = elements * share;
  const bool transposes = share < 1 && format.rows == 1 && format.columns == 1;
  std::vector<pcg::Kernel> kernels;
  if (cast == Cast::none) return kernels;
  if (cast == Cast::complete && format.amax) kernels.push_back(pass(pcg::KernelKind::reduction, names.amax, part, kHalf * part));
  if (cast != Cast::scales)
    kernels.push_back(
        pass(pcg::KernelKind::elementwise, names.cast, part, (kHalf + format.rows + (transposes ? 0 : format.columns)) * part));
  if (transposes) kernels.push_back(pass(pcg::KernelKind::copy, names.transpose, 0, 2 * elements));
  if (format.swizzled > 0) kernels.push_back(pass(pcg::KernelKind::copy, names.scales, 0, 2 * format.swizzled * elements));
  return kernels;
}

std::vector<pcg::Kernel> weight_cast_kernels(pcg::WeightStorage storage, double elements, const pcg::OperandFormat& format) {
  if (storage == pcg::WeightStorage::bf16 || storage == pcg::WeightStorage::mxfp8)
    return cast_kernels(Operand::weight, Cast::complete, elements, format);
  if (format.columns == 0) return {};  // others are gathered as rows; columns are made of them
  return {pass(pcg::KernelKind::copy, kNames[static_cast<std::size_t>(Operand::weight)].transpose, 0, 2 * format.columns * elements)};
}

base::Bytes bytes_written_more(Written written, double elements, const pcg::OperandFormat& format) {
  if (written == Written::bf16) return base::Bytes(0);
  return base::Bytes((format.kept() - (written == Written::low ? 2 : 0)) * elements);
}

}  // namespace sim
