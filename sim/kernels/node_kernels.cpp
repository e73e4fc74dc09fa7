#include "sim/kernels/node_kernels.hpp"

#include <algorithm>

#include "pcg/operators/head_dims.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/work/work.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

void put_before(std::vector<pcg::Kernel>& kernels, const std::vector<pcg::Kernel>& first) {
  kernels.insert(kernels.begin(), first.begin(), first.end());
}
void put_after(std::vector<pcg::Kernel>& kernels, const std::vector<pcg::Kernel>& last) {
  kernels.insert(kernels.end(), last.begin(), last.end());
}

// Reads what is stored as the precision stores reals and writes it in 1 byte, or the other way round.
pcg::Kernel cast_saved(const pcg::TensorShape& shape, pcg::Precision precision) {
  const auto elements = static_cast<double>(shape.elements());
  return {.kind = pcg::KernelKind::elementwise,
          .name = "fp8 cast of an activation input",
          .flops = base::Flops(elements),
          .bytes = pcg::bytes_of(shape, precision) + base::Bytes(elements)};
}

// The operands of products in low precision are read in their own bytes.
void read_low(std::vector<pcg::Kernel>& kernels, std::int64_t operands, const pcg::OperandFormat& format) {
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::matmul) k.bytes = k.bytes - base::Bytes((2 - format.rows) * static_cast<double>(operands));
}

// Frameworks add the partial sums of gradients' products up in fp32, and of all products where scales are of blocks (Transformer Engine,
// transformer_engine/common/recipe/__init__.py, MMParams.use_split_accumulator; torchao, torchao/float8/config.py, use_fast_accum).
void split_accumulation(std::vector<pcg::Kernel>& kernels) {
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::matmul) k.split_accumulation = true;
}

// Experts' products, one for each expert: four streams keep the tensor cores as busy as one product after another would.
void unfuse_experts(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const profiles::FrameworkProfile& framework) {
  if (!framework.unfused_experts || !std::holds_alternative<pcg::ExpertLinear>(shape.op)) return;
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::matmul) k.serial_launches = k.batch;
}

// Kernels that a framework runs where others have one or none, all of a pass.
struct SeparateKernels {
  base::Bytes per_element;
  int kernels = 1;
  base::Bytes strided_per_element;
  [[nodiscard]] bool empty() const { return per_element.value() == 0 && strided_per_element.value() == 0; }
};
SeparateKernels forward_of(const profiles::BytesPerElement& b) { return {b.forward, b.forward_kernels, b.forward_strided}; }
SeparateKernels backward_of(const profiles::BytesPerElement& b) { return {b.backward, b.backward_kernels, b.backward_strided}; }

// The passes of `separate` over `elements` elements, all of them `times` times.
std::vector<pcg::Kernel> passes_over(double elements, const SeparateKernels& separate, std::string_view name, std::int64_t times = 1,
                                     pcg::KernelKind unstrided = pcg::KernelKind::elementwise) {
  std::vector<pcg::Kernel> kernels;
  const auto add = [&](pcg::KernelKind kind, base::Bytes per_element, int count) {
    if (per_element.value() == 0) return;
    const pcg::Kernel k{.kind = kind, .name = name, .flops = base::Flops(elements / count), .bytes = per_element * elements / count};
    kernels.insert(kernels.end(), static_cast<std::size_t>(count * times), k);
  };
  add(unstrided, separate.per_element, separate.kernels);
  add(pcg::KernelKind::strided, separate.strided_per_element, 1);
  return kernels;
}

// A loss that the framework does not fuse runs as passes over all logits in fp32. In full precision its one kernel stays as it is.
void unfuse_loss(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                 const SeparateKernels& loss, const SeparateKernels& casts, bool forward) {
  const bool half = pcg::element_bytes(pcg::Element::real, training.precision).value() < 4;
  if (loss.empty() || !half || kernels.size() != 1 || !std::holds_alternative<pcg::CrossEntropy>(shape.op)) return;
  const auto logits = static_cast<double>(shape.read.front().elements());
  const pcg::Kernel fused = kernels.front();
  kernels = passes_over(logits, loss, fused.name, 1, fused.kind);
  for (pcg::Kernel& k : kernels) k.flops = fused.flops / static_cast<double>(kernels.size());
  (forward ? put_before : put_after)(kernels, passes_over(logits, casts, "cross_entropy.casts"));
}

// Passes over the experts' outputs besides their product.
std::vector<pcg::Kernel> expert_bias_kernels(const NodeShape& shape, const SeparateKernels& separate) {
  if (!shape.unfused_biases) return {};
  return passes_over(static_cast<double>(shape.outputs[0].elements()), separate, "biases of experts");
}

bool adds_biases_of_experts(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const auto* product = std::get_if<pcg::ExpertLinear>(plan.pcg.nodes()[node].operation());
  return product != nullptr && product->has_bias && std::ranges::any_of(flow.uses[node][0], [&](const Use& u) {
           return std::holds_alternative<pcg::MoeCombine>(*plan.pcg.nodes()[u.consumer].operation());
         });
}

// The kernel of a gated unit's product reads the gate and makes its gradient: of the activation's own, what casts write remains.
void leave_to_product(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const profiles::FrameworkProfile& framework) {
  if (!shape.activated_gate || !framework.fused_gated_activation) return;
  kernels.resize(std::min<std::size_t>(kernels.size(), 1));
  for (pcg::Kernel& k : kernels) {
    k.bytes = base::Bytes(0);
    k.flops = base::Flops(0);
  }
}
void drop_empty(std::vector<pcg::Kernel>& kernels) {
  std::erase_if(kernels, [](const pcg::Kernel& k) { return k.bytes.value() == 0 && k.flops.value() == 0; });
}

// A product that adds to the gradient buffer reads what lies there and writes the sum, in the buffer's precision and not in its own.
void add_to_buffer(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                   const profiles::FrameworkProfile& framework) {
  const bool multiplies = std::holds_alternative<pcg::Linear>(shape.op) || std::holds_alternative<pcg::ExpertLinear>(shape.op);
  if (!framework.fused_gradient_accumulation || !multiplies) return;
  const ModelStateBytes element = model_state_bytes(training, framework);
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::matmul)
      k.added = base::Bytes((2 * element.gradient - element.weight) * static_cast<double>(shape.read[1].elements()));
}

// Tensors of scores that a fused softmax reads and writes: forward scores and shares; backward shares and both gradients.
constexpr int kFusedForward = 2, kFusedBackward = 3;

// One pass of a softmax that is not fused: kernels, bytes per score, and how many tensors of scores the fused kernel moves.
struct SoftmaxPass {
  int kernels = 0;
  base::Bytes bytes_per_score;
  int fused_tensors = 0;
};

// The kernels in place of a framework's own softmax of scores, where that cannot take them. The first product of either pass has samples x
// heads as its batch and is as long as the keys.
void fall_back(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
               const profiles::FallbackSoftmax& fallback, const SoftmaxPass& pass) {
  const auto* attention = std::get_if<pcg::Attention>(&shape.op);
  if (fallback.heads == 0 || attention == nullptr || attention->flash || !pcg::is_half(training.precision)) return;
  const auto softmax = std::ranges::find(kernels, pcg::KernelKind::softmax, &pcg::Kernel::kind);
  const auto product = std::ranges::find(kernels, pcg::KernelKind::matmul, &pcg::Kernel::kind);
  if (softmax == kernels.end() || product == kernels.end()) return;
  if (product->batch % fallback.heads == 0 && product->m <= fallback.keys) return;
  const double scores = softmax->bytes / (pass.fused_tensors * pcg::element_bytes(pcg::Element::real, training.precision));
  pcg::Kernel one = *softmax;
  one.kind = pcg::KernelKind::elementwise;
  one.flops = one.flops / pass.kernels;
  one.bytes = pass.bytes_per_score * scores / pass.kernels;
  kernels.insert(kernels.erase(softmax), static_cast<std::size_t>(pass.kernels), one);
}

// The kernels around the softmax of scores, where it is a kernel of its own.
void unfuse_scores(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const profiles::UnfusedScores& unfused, double numbers,
                   int fused_tensors) {
  const auto* attention = std::get_if<pcg::Attention>(&shape.op);
  if (attention == nullptr || attention->flash) return;
  if (attention->causal) numbers += unfused.masked;
  const auto softmax = std::ranges::find(kernels, pcg::KernelKind::softmax, &pcg::Kernel::kind);
  if (softmax == kernels.end() || numbers == 0) return;
  pcg::Kernel passes = *softmax;
  passes.kind = pcg::KernelKind::elementwise;
  passes.name = "attention.unfused_scores";
  passes.bytes = softmax->bytes * (numbers / fused_tensors);
  kernels.insert(softmax, passes);
}

// In place of kernels whose names begin so, each of which takes as many elements as `elements_of` says.
template <class ElementsOf>
void run_separately(std::vector<pcg::Kernel>& kernels, std::string_view name, const SeparateKernels& separate, ElementsOf&& elements_of) {
  if (separate.empty()) return;
  std::vector<pcg::Kernel> result;
  for (const pcg::Kernel& fused : kernels) {
    if (!fused.name.starts_with(name)) {
      result.push_back(fused);
      continue;
    }
    std::vector<pcg::Kernel> passes = passes_over(elements_of(fused), separate, fused.name);
    for (pcg::Kernel& k : passes) k.flops = fused.flops / static_cast<double>(passes.size());
    result.insert(result.end(), passes.begin(), passes.end());
  }
  kernels = std::move(result);
}

// Rotations and RMS norms that the framework does not fuse. `tensors_of_norm`: how many times a fused norm of queries and keys reads or
// writes each element in this pass.
void unfuse_pointwise(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                      const SeparateKernels& rotation, const SeparateKernels& norm, int tensors_of_norm) {
  const base::Bytes real = pcg::element_bytes(pcg::Element::real, training.precision);
  run_separately(kernels, "attention.rotate", rotation, [&](const pcg::Kernel& k) { return k.bytes / (2 * real); });
  run_separately(kernels, "attention.norm", norm, [&](const pcg::Kernel& k) { return k.bytes / (tensors_of_norm * real); });
  if (const auto* layer_norm = std::get_if<pcg::LayerNorm>(&shape.op); layer_norm != nullptr && layer_norm->rms)
    run_separately(kernels, "layer_norm", norm, [&](const pcg::Kernel&) { return static_cast<double>(shape.read[0].elements()); });
}

// Attention whose positions are cut: the ranks of context whose keys it meets, without its own.
std::int64_t blocks_of_others(const pcg::Plan& plan, std::uint32_t node) {
  const pcg::PcgNode& n = plan.pcg.nodes()[node];
  if (!std::holds_alternative<pcg::Attention>(*n.operation())) return 0;
  std::int64_t ranks = 1;
  for (const pcg::InternalCollective& c :
       pcg::internal_collectives(*n.operation(), *n.space, n.sharding, plan.pcg.whole_inputs(pcg::NodeId(node))))
    if (c.kind == pcg::InternalCollective::Kind::all_gather && !c.backward) ranks = n.sharding.degrees[static_cast<std::size_t>(c.loop)];
  return ranks - 1;
}

// The kernels that join the results of attention over the blocks of other ranks' keys. Without `repeated_keys` a group of heads has one
// copy of its keys.
std::vector<pcg::Kernel> context_kernels(const NodeShape& shape, const SeparateKernels& merge, const SeparateKernels& copy) {
  if (shape.blocks_of_others == 0) return {};
  const auto& op = std::get<pcg::Attention>(shape.op);
  const auto output = static_cast<double>(shape.outputs[0].elements());
  const double keys = 2 * output * (op.repeated_keys ? 1 : static_cast<double>(op.kv_heads) / static_cast<double>(op.heads));
  std::vector<pcg::Kernel> kernels = passes_over(keys, copy, "attention.copy_block", shape.blocks_of_others);
  put_after(kernels, passes_over(output, merge, "attention.merge_block", shape.blocks_of_others));
  return kernels;
}

// The kernel of a backward pass as if attention had no window: cuDNN's in fp8 and mxfp8 take the whole triangle of keys, whatever window
// there is (profiles/tables/cudnn_attention.csv says of which versions).
pcg::Kernel without_window(const pcg::Kernel& fused, const NodeShape& shape, const pcg::TrainingConfig& training) {
  pcg::Attention whole = std::get<pcg::Attention>(shape.op);
  if (whole.window == 0) return fused;
  whole.window = 0;
  whole.chunked = false;
  const auto kernels = pcg::input_gradient_kernels(whole, shape.read, shape.outputs, shape.needed, training.precision);
  return *std::ranges::find_if(kernels, [](const pcg::Kernel& k) { return pcg::is_attention(k.kind); });
}

// Attention in low precision: of the forward pass its inputs are cast before it, of the backward pass the gradient of its output.
void lower_attention(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training, Operand what) {
  const auto fused = std::ranges::find_if(kernels, [](const pcg::Kernel& k) { return pcg::is_attention(k.kind); });
  if (!training.fp8_attention || fused == kernels.end()) return;
  if (what == Operand::gradient) *fused = without_window(*fused, shape, training);
  fused->low_attention = true;
  double elements = 0;
  if (what == Operand::gradient) elements = static_cast<double>(shape.outputs[0].elements());
  else
    for (std::size_t i = 0; i < pcg::attention_activations(std::get<pcg::Attention>(shape.op)); ++i)
      elements += static_cast<double>(shape.read[i].elements());
  const auto casts = cast_kernels(what, Cast::complete, elements, pcg::operand_format(training, shape.casts.copies_columns));
  kernels.insert(fused, casts.begin(), casts.end());
}

// Permutations of the input of a state space layer into the order of its samples, and of its output back, in either pass.
void order_by_sample(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                     const profiles::FrameworkProfile& framework) {
  if (!framework.sequence_first || !std::holds_alternative<pcg::StateSpace>(shape.op) || kernels.empty()) return;
  const std::vector<std::int64_t>& sizes = shape.read[0].sizes;
  const std::int64_t samples = shape.read[0].elements() / (sizes[sizes.size() - 1] * sizes[sizes.size() - 2]);
  if (samples == 1) return;
  const pcg::Kernel copy{
      .kind = pcg::KernelKind::copy,
      .name = "state_space.order",
      .bytes = 2 * (pcg::bytes_of(shape.read[0], training.precision) + pcg::bytes_of(shape.outputs[0], training.precision))};
  kernels.push_back(copy);
}

// Products in low precision: their operands are cast before them. Other kernels may write what they make cast. `what`: the operand that the
// pass reads.
void lower_products(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training, Operand what) {
  if (!pcg::casts_products(training.precision)) return;
  const CastsOfNode& casts = shape.casts;
  const bool forward = what == Operand::input;
  const pcg::OperandFormat format = pcg::operand_format(training, casts.copies_columns);
  if (casts.low) {
    const std::int64_t operand = (forward ? shape.read : shape.outputs)[0].elements();
    read_low(kernels, operand + shape.read[1].elements(), format);
    if (!forward || training.fp8_recipe == pcg::Fp8Scaling::blockwise) split_accumulation(kernels);
    put_before(kernels, cast_kernels(what, forward ? casts.input : casts.gradient, static_cast<double>(operand), format,
                                     forward ? casts.input_share : casts.gradient_share));
  } else if (!kernels.empty()) {
    const auto made = static_cast<double>((forward ? shape.outputs : shape.read)[0].elements());
    kernels.back().bytes += bytes_written_more(forward ? casts.output : casts.made_gradient, made, format);
  }
}

// The kernels that both passes have: `what` is Operand::input in the forward pass, Operand::gradient in that of the input's gradient.
std::vector<pcg::Kernel> kernels_of_pass(const NodeShape& shape, const pcg::TrainingConfig& training,
                                         const profiles::FrameworkProfile& framework, Operand what) {
  const bool forward = what == Operand::input;
  const auto of_pass = forward ? forward_of : backward_of;
  const profiles::FallbackSoftmax& softmax = framework.fallback_softmax;
  const SoftmaxPass pass = forward ? SoftmaxPass{softmax.forward_kernels, softmax.forward, kFusedForward}
                                   : SoftmaxPass{softmax.backward_kernels, softmax.backward, kFusedBackward};
  std::vector<pcg::Kernel> kernels =
      forward ? pcg::forward_kernels(shape.op, shape.read, shape.outputs, training.precision)
              : pcg::input_gradient_kernels(shape.op, shape.read, shape.outputs, shape.needed, training.precision);
  unfuse_loss(kernels, shape, training, of_pass(framework.loss), of_pass(framework.loss_casts), forward);
  unfuse_pointwise(kernels, shape, training, of_pass(framework.rotation), of_pass(framework.rms_norm), forward ? 2 : 3);
  leave_to_product(kernels, shape, framework);
  lower_products(kernels, shape, training, what);
  if (shape.activated_gate) drop_empty(kernels);
  unfuse_experts(kernels, shape, framework);
  fall_back(kernels, shape, training, softmax, pass);
  unfuse_scores(kernels, shape, framework.unfused_scores, forward ? framework.unfused_scores.forward : framework.unfused_scores.backward,
                pass.fused_tensors);
  lower_attention(kernels, shape, training, what);
  order_by_sample(kernels, shape, training, framework);
  const bool makes_tokens =
      forward ? std::holds_alternative<pcg::MoeCombine>(shape.op) : std::holds_alternative<pcg::MoeDispatch>(shape.op);
  arrange_tokens(kernels, shape, training, framework, makes_tokens);
  return kernels;
}

}  // namespace

NodeShape node_shape(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns) {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  const auto wholes = plan.pcg.whole_inputs(id);
  NodeShape s{pcg::shard_operator(*n.operation(), wholes, plan.pcg.shard_inputs(id)),
              pcg::shards_with_halos(*n.operation(), *n.space, n.sharding, wholes),
              plan.pcg.shard_outputs(id),
              {},
              casts_of(plan, flow, node, copies_columns),
              plan.memory.fp8_activation_inputs && saves_activation_input(plan, flow, node),
              adds_biases_of_experts(plan, flow, node),
              is_activated_gate(plan, flow, node),
              is_second_projection(plan, flow, node)};
  describe_dispatch(plan, flow, node, s);
  s.blocks_of_others = blocks_of_others(plan, node);
  s.trained = trains_weights(flow, node);
  s.stored = flow.stored[node];
  s.graphed = pcg::is_graphed(n, plan.graphed);
  const auto slots = pcg::weight_slots(s.op, flow.origins[node].size());
  for (std::size_t i = 0; i < slots.size(); ++i) s.needed.push_back(!slots[i] && flow.needs_gradient[flow.origins[node][i].node.value]);
  return s;
}

std::vector<pcg::Kernel> forward_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                         const profiles::FrameworkProfile& framework) {
  if (shape.stored) return {};
  std::vector<pcg::Kernel> kernels = kernels_of_pass(shape, training, framework, Operand::input);
  put_after(kernels, expert_bias_kernels(shape, forward_of(framework.expert_bias)));
  put_after(kernels, context_kernels(shape, forward_of(framework.context_merge), forward_of(framework.context_copy)));
  if (shape.casts_saved) kernels.push_back(cast_saved(shape.read[0], training.precision));
  return kernels;
}

std::vector<pcg::Kernel> input_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                const profiles::FrameworkProfile& framework) {
  if (shape.stored) return {};
  std::vector<pcg::Kernel> kernels = kernels_of_pass(shape, training, framework, Operand::gradient);
  put_before(kernels, expert_bias_kernels(shape, backward_of(framework.expert_bias)));
  put_after(kernels, context_kernels(shape, backward_of(framework.context_merge), backward_of(framework.context_copy)));
  if (shape.casts_saved) kernels.insert(kernels.begin(), cast_saved(shape.read[0], training.precision));
  return kernels;
}

std::vector<pcg::Kernel> weight_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                 const profiles::FrameworkProfile& framework) {
  if (!shape.trained) return {};
  std::vector<pcg::Kernel> kernels = pcg::weight_gradient_kernels(shape.op, shape.read, shape.outputs, training.precision);
  if (shape.casts.low) {
    read_low(kernels, shape.read[0].elements() + shape.outputs[0].elements(), pcg::operand_format(training, shape.casts.copies_columns));
    split_accumulation(kernels);
  }
  unfuse_experts(kernels, shape, framework);
  add_to_buffer(kernels, shape, training, framework);
  return kernels;
}

std::vector<pcg::Kernel> weight_casts(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns) {
  if (!pcg::multiplies_low(plan, plan.pcg.nodes()[node])) return {};
  const auto elements = flow.layouts[node].inputs[1].shard_elements();
  return weight_cast_kernels(plan.memory.weights, elements, pcg::weight_format(plan.training, copies_columns));
}

std::vector<pcg::Kernel> accumulation_kernels(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                              std::uint32_t node) {
  double bytes = 0;
  const auto outputs = plan.pcg.shard_outputs(pcg::NodeId(node));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    // Both projections of a gated unit add up inside the one product that they are.
    const auto readers = static_cast<double>(std::ranges::count_if(flow.uses[node][j], [&](const Use& u) {
      return !framework.joint_gated_projections || !is_second_projection(plan, flow, u.consumer);
    }));
    // a += b reads both and writes one, once for every reader beyond the first.
    if (readers > 1) bytes += 3 * (readers - 1) * pcg::bytes_of(outputs[j], plan.training.precision).value();
  }
  if (bytes == 0) return {};
  const double flops = bytes / (3 * pcg::element_bytes(pcg::Element::real, plan.training.precision).value());
  return {
      {.kind = pcg::KernelKind::elementwise, .name = "gradient accumulation", .flops = base::Flops(flops), .bytes = base::Bytes(bytes)}};
}

std::vector<pcg::Kernel> gradient_buffer_kernels(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                                 std::uint32_t node) {
  if (framework.fused_gradient_accumulation) return {};
  const ModelStateBytes element = model_state_bytes(plan.training, framework);
  std::vector<pcg::Kernel> kernels;
  for (std::size_t i = 0; i < flow.origins[node].size(); ++i) {
    if (!plan.pcg.node(flow.origins[node][i].node).is_trained()) continue;
    const auto parameters = flow.layouts[node].inputs[i].shard_elements();
    // Reads the new gradient, reads and writes the sum: PyTorch's AccumulateGrad, which keeps the first gradient as it is and adds later
    // ones in place.
    kernels.push_back({.kind = pcg::KernelKind::elementwise,
                       .name = "gradient buffer",
                       .flops = base::Flops(parameters),
                       .bytes = base::Bytes(parameters * (element.weight + 2 * element.gradient))});
  }
  return kernels;
}

std::vector<pcg::Kernel> unit_copies(const pcg::Plan& plan, const FlowGraph& flow, UnitCopy of, const profiles::UnitCopies& copies,
                                     std::uint32_t node) {
  const bool weights = of == UnitCopy::weights;
  double parameters = 0;
  for (std::size_t i = 0; i < flow.origins[node].size(); ++i) {
    const pcg::PcgNode& weight = plan.pcg.node(flow.origins[node][i].node);
    if (weights ? weight.is_weight() : weight.is_trained()) parameters += flow.layouts[node].inputs[i].shard_elements();
  }
  std::vector<pcg::Kernel> kernels{
      {.kind = pcg::KernelKind::copy, .name = "unit copy", .bytes = (weights ? copies.gathered : copies.reduced) * parameters}};
  if (!weights) kernels.push_back({.kind = pcg::KernelKind::strided, .name = "unit copy", .bytes = copies.reduced_strided * parameters});
  drop_empty(kernels);
  return kernels;
}

}  // namespace sim
