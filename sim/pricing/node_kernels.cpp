#include "sim/pricing/node_kernels.hpp"

#include <algorithm>

#include "pcg/operators/weights.hpp"
#include "pcg/sharding/halo.hpp"
#include "pcg/work/forward_kernels.hpp"
#include "pcg/work/gradient_kernels.hpp"
#include "pcg/work/shard_operator.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

// A loss that the framework does not fuse runs as passes over all logits in fp32. In full precision its one kernel stays as it is.
std::vector<pcg::Kernel> passes_of_loss(const NodeShape& shape, const pcg::TrainingConfig& training, std::vector<pcg::Kernel> kernels,
                                        int passes, base::Bytes bytes_per_logit) {
  const bool half = pcg::element_bytes(pcg::Element::real, training.precision).value() < 4;
  if (passes == 0 || !half || kernels.size() != 1 || !std::holds_alternative<pcg::CrossEntropy>(shape.op)) return kernels;
  const auto logits = static_cast<double>(shape.read.front().elements());
  pcg::Kernel k = kernels.front();
  k.kind = pcg::KernelKind::elementwise;
  k.bytes = bytes_per_logit * logits / passes;
  k.flops = k.flops / passes;
  return std::vector<pcg::Kernel>(static_cast<std::size_t>(passes), k);
}

bool is_product(const pcg::Operator& op) {
  return std::holds_alternative<pcg::Linear>(op) || std::holds_alternative<pcg::ExpertLinear>(op);
}

// Kernels that go through all elements anyhow, and write fp8 where a product reads them next, as Transformer Engine's do.
bool is_elementwise(const pcg::Operator& op) { return std::holds_alternative<pcg::Unary>(op) || std::holds_alternative<pcg::Binary>(op); }

// The first product that reads a tensor casts it for all.
bool casts_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::TensorRef from = flow.origins[node][0];
  const pcg::PcgNode& maker = plan.pcg.node(from.node);
  if (!maker.computes() || std::holds_alternative<pcg::LayerNorm>(*maker.operation()) || is_elementwise(*maker.operation())) return false;
  for (const Use& use : flow.uses[from.node.value][static_cast<std::size_t>(from.output)])
    if (is_product(*plan.pcg.nodes()[use.consumer].operation())) return use.consumer == node;
  return false;
}

bool is_multiplied(const pcg::Operator& op) {
  const auto* binary = std::get_if<pcg::Binary>(&op);
  return binary != nullptr && binary->kind == pcg::Binary::Kind::multiply;
}

// The gradient of an activation or of a factor is cast by the kernel that makes it; one that is handed on as it is, or summed up, is not.
bool casts_gradient(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const std::vector<Use>& uses = flow.uses[node][0];
  if (uses.size() != 1) return true;
  const pcg::Operator& reader = *plan.pcg.nodes()[uses.front().consumer].operation();
  return !std::holds_alternative<pcg::Unary>(reader) && !is_multiplied(reader);
}

bool makes_logits(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  return std::ranges::any_of(flow.uses[node][0], [&](const Use& use) {
    return std::holds_alternative<pcg::CrossEntropy>(*plan.pcg.nodes()[use.consumer].operation());
  });
}

// Reads what is stored as the precision stores reals and writes it in 1 byte, or the other way round.
pcg::Kernel cast_kept(const pcg::TensorShape& shape, pcg::Precision precision) {
  pcg::Kernel k;
  const auto elements = static_cast<double>(shape.elements());
  k.kind = pcg::KernelKind::elementwise;
  k.name = "fp8 cast of an activation input";
  k.flops = base::Flops(elements);
  k.bytes = pcg::bytes_of(shape, precision) + base::Bytes(elements);
  return k;
}

// Reads what is stored in 2 bytes and writes it in 1 twice: by rows for the product at hand and by columns for the gradient of the weights,
// which on Hopper is a transposed copy (Transformer Engine, docs/examples/fp8_primer).
pcg::Kernel cast(std::string_view name, const pcg::TensorShape& shape) {
  pcg::Kernel k;
  const auto elements = static_cast<double>(shape.elements());
  k.kind = pcg::KernelKind::elementwise;
  k.name = name;
  k.flops = base::Flops(elements);
  k.bytes = base::Bytes(4 * elements);
  return k;
}

}  // namespace

NodeShape node_shape(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  const auto wholes = plan.pcg.whole_inputs(id);
  NodeShape s{pcg::shard_operator(*n.operation(), wholes, plan.pcg.shard_inputs(id)),
              pcg::shards_with_halos(*n.operation(), *n.space, n.sharding, wholes),
              plan.pcg.shard_outputs(id),
              {},
              false,
              false,
              plan.memory.fp8_activation_inputs && keeps_activation_input(plan, flow, node),
              false};
  s.stored = flow.stored[node];
  const auto slots = pcg::weight_slots(s.op, flow.origins[node].size());
  for (std::size_t i = 0; i < slots.size(); ++i) s.needed.push_back(!slots[i] && flow.needs_gradient[flow.origins[node][i].node.value]);
  if (plan.training.precision == pcg::Precision::fp8 && is_product(s.op)) {
    s.is_head = makes_logits(plan, flow, node);
    s.casts_input = !s.is_head && casts_input(plan, flow, node);
    s.casts_gradient = !s.is_head && casts_gradient(plan, flow, node);
  }
  return s;
}

std::vector<pcg::Kernel> forward_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                         const profiles::FrameworkProfile& framework) {
  if (shape.stored) return {};
  std::vector<pcg::Kernel> kernels =
      passes_of_loss(shape, training, pcg::forward_kernels(shape.op, shape.read, shape.outputs, training.precision),
                     framework.loss.forward_kernels, framework.loss.forward);
  if (shape.casts_input) kernels.insert(kernels.begin(), cast("fp8 cast", shape.read[0]));
  if (shape.casts_kept) kernels.push_back(cast_kept(shape.read[0], training.precision));
  return kernels;
}

std::vector<pcg::Kernel> input_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                const profiles::FrameworkProfile& framework) {
  if (shape.stored) return {};
  std::vector<pcg::Kernel> kernels =
      passes_of_loss(shape, training, pcg::input_gradient_kernels(shape.op, shape.read, shape.outputs, shape.needed, training.precision),
                     framework.loss.backward_kernels, framework.loss.backward);
  if (shape.casts_gradient) kernels.insert(kernels.begin(), cast("fp8 cast of a gradient", shape.outputs[0]));
  if (shape.casts_kept) kernels.insert(kernels.begin(), cast_kept(shape.read[0], training.precision));
  return kernels;
}

std::vector<pcg::Kernel> weight_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training) {
  return pcg::weight_gradient_kernels(shape.op, shape.read, shape.outputs, training.precision);
}

std::vector<pcg::Kernel> accumulation_kernels(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  double bytes = 0;
  const auto outputs = plan.pcg.shard_outputs(pcg::NodeId(node));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const auto readers = static_cast<double>(flow.uses[node][j].size());
    // a += b reads both and writes one, once for every reader beyond the first.
    if (readers > 1) bytes += 3 * (readers - 1) * pcg::bytes_of(outputs[j], plan.training.precision).value();
  }
  if (bytes == 0) return {};
  pcg::Kernel k;
  k.kind = pcg::KernelKind::elementwise;
  k.name = "gradient accumulation";
  k.bytes = base::Bytes(bytes);
  k.flops = base::Flops(bytes / (3 * pcg::element_bytes(pcg::Element::real, plan.training.precision).value()));
  return {k};
}

std::vector<pcg::Kernel> gradient_buffer_kernels(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                                 std::uint32_t node) {
  if (framework.fused_gradient_accumulation) return {};
  const ModelStateBytes element = model_state_bytes(plan.training, framework);
  std::vector<pcg::Kernel> kernels;
  for (std::size_t i = 0; i < flow.origins[node].size(); ++i) {
    if (!plan.pcg.node(flow.origins[node][i].node).is_weight()) continue;
    const auto parameters = static_cast<double>(flow.layouts[node].inputs[i].shape.shard().elements());
    pcg::Kernel k;
    k.kind = pcg::KernelKind::elementwise;
    k.name = "gradient buffer";
    k.flops = base::Flops(parameters);
    // Reads the new gradient, reads and writes the sum: PyTorch's AccumulateGrad, which keeps the first gradient as it is and adds later
    // ones in place.
    k.bytes = base::Bytes(parameters * (element.weight + 2 * element.gradient));
    kernels.push_back(k);
  }
  return kernels;
}

}  // namespace sim
