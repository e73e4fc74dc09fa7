// Gradient kernels: of the activations, and of the weights. Bytes: each operand and each result once.

#include "pcg/work/work.hpp"

#include <algorithm>
#include <type_traits>

#include "pcg/work/work_parts.hpp"

namespace pcg {
namespace work {
namespace {

using Needed = std::vector<bool>;

bool any(const Needed& needed) { return std::find(needed.begin(), needed.end(), true) != needed.end(); }
bool wanted(const Needed& needed, std::size_t i) { return i < needed.size() && needed[i]; }

template <class Other>
Kernels input_gradient(const Other&, const Shard&, const Needed&) {
  return {};
}

// Of x . w, where the gradient before a fused activation comes first: from the gradient after it and what was saved.
template <class Product>
Kernels product_gradient(const Product& o, std::string_view before_activation, std::string_view name, const Shard& p,
                         const Needed& needed) {
  const MatmulSizes s = sizes_of(o, p);
  Kernels result;
  if (o.activation != Activation::none)
    result.push_back(simple(KernelKind::elementwise, before_activation, 2 * count(p.out[0]), 3 * p.bytes_out()));
  if (!wanted(needed, 0)) return result;
  result.push_back(matmul(name, s.batch, s.m, s.k, s.n, p.bytes_out() + p.bytes_in(1) + p.bytes_in(0)));
  if (std::is_same_v<Product, Conv2d>) result.back().kind = KernelKind::convolution;
  return result;
}
Kernels input_gradient(const Linear& o, const Shard& p, const Needed& needed) {
  return product_gradient(o, "linear.activation_gradient", "linear.input_gradient", p, needed);
}
Kernels input_gradient(const ExpertLinear& o, const Shard& p, const Needed& needed) {
  return product_gradient(o, "expert_linear.activation_gradient", "expert_linear.input_gradient", p, needed);
}
Kernels input_gradient(const Conv2d& o, const Shard& p, const Needed& needed) {
  return product_gradient(o, "conv2d.activation_gradient", "conv2d.input_gradient", p, needed);
}
Kernels input_gradient(const BatchMatmul& o, const Shard& p, const Needed& needed) {
  const MatmulSizes s = sizes_of(o, p);
  const base::Bytes bytes = p.bytes_of_inputs() + p.bytes_out();  // either gradient reads two of the three and writes the third's size
  Kernels result;
  if (wanted(needed, 0)) result.push_back(matmul("batch_matmul.gradient_a", s.batch, s.m, s.k, s.n, bytes));
  if (wanted(needed, 1)) result.push_back(matmul("batch_matmul.gradient_b", s.batch, s.k, s.n, s.m, bytes));
  return result;
}
Kernels input_gradient(const Pool2d& o, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  const bool looks_back = o.kind == Pool2d::Kind::max;  // where the maximum was
  const base::Bytes saved = looks_back ? p.bytes_in(0) + p.bytes_out() : base::Bytes(0);
  return {simple(KernelKind::pooling, "pool2d.input_gradient", count(p.in[0]), p.bytes_out() + saved + p.bytes_in(0))};
}
// Two row sums and their combination: 10 FLOPs per element, 7 without a mean.
Kernels input_gradient(const LayerNorm& o, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  const double flops = (o.rms ? 7 : 10) * count(p.in[0]);
  return {simple(KernelKind::norm, "layer_norm.input_gradient", flops, 2 * p.bytes_in(0) + p.bytes_in(1) + p.bytes_out())};
}
Kernels input_gradient(const BatchNorm&, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  return {simple(KernelKind::norm, "batch_norm.input_gradient", 10 * count(p.in[0]), 2 * p.bytes_in(0) + p.bytes_in(1) + p.bytes_out())};
}
// dx = y * (dy - sum(y * dy)).
Kernel softmax_gradient(std::string_view name, double elements, base::Bytes each) {
  return simple(KernelKind::softmax, name, 4 * elements, 3 * each);
}
Kernels input_gradient(const Softmax&, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  return {softmax_gradient("softmax.input_gradient", count(p.in[0]), p.bytes_out())};
}

// Five matmuls against the forward pass' two, because the scores are computed again (Dao, arXiv 2307.08691, section 2.3.2 and 4.1:
// 2.5 times the forward FLOPs). Reads q, k, v, the output and its gradient, writes the gradients of q, k, v.
Kernels flash_gradient(const Attention& o, const Shard& p, const AttentionSizes& s) {
  // The scores again and the gradients of q and k are as wide as a query, those of the scores and of v as wide as a value.
  Kernel k = flash_kernel("attention.flash_gradient", s, 3 * s.dims.query + 2 * s.dims.value, 2 * bytes_met(o, p) + 2 * p.bytes_out());
  k.kind = KernelKind::attention_gradient;
  return {k};
}
Kernels unfused_gradient(const Attention& o, const Shard& p, const AttentionSizes& s) {
  const std::int64_t batch = s.samples * s.heads;
  const base::Bytes q = p.bytes_of_reals(s.query_elements), y = p.bytes_of_reals(s.output_elements);
  const base::Bytes k = p.bytes_of_reals(s.key_elements), v = p.bytes_of_reals(s.value_elements);
  const base::Bytes scores = p.bytes_of_reals(s.scores);
  Kernels result;
  result.push_back(matmul("attention.value_gradient", batch, s.keys, s.dims.value, s.queries, scores + y + v));
  result.push_back(matmul("attention.context_gradient", batch, s.queries, s.keys, s.dims.value, y + v + scores));
  if (o.dropout > 0)
    result.push_back(simple(KernelKind::elementwise, "attention.dropout_gradient", 2 * s.scores, 2 * scores + base::Bytes(s.scores)));
  result.push_back(softmax_gradient("attention.softmax_gradient", s.scores, scores));
  result.push_back(matmul("attention.query_gradient", batch, s.queries, s.dims.query, s.keys, scores + k + q));
  result.push_back(matmul("attention.key_gradient", batch, s.keys, s.dims.query, s.queries, scores + q + k));
  return result;
}
Kernels input_gradient(const Attention& o, const Shard& p, const Needed& needed) {
  if (!any(needed)) return {};
  const AttentionSizes s = sizes_of(o, p);
  Kernels result = o.flash ? flash_gradient(o, p, s) : unfused_gradient(o, p, s);
  const double rotated = rotated_elements(o, s);
  if (o.latent)
    result.push_back(simple(KernelKind::copy, "attention.join_keys_gradient", 0, p.bytes_in(1) + p.bytes_in(2) + bytes_joined(p, s)));
  if (const double copies = copies_of_keys(o); copies > 1)
    result.push_back(simple(KernelKind::reduction, "attention.repeat_keys_gradient", 0, (1 + copies) * bytes_joined(p, s)));
  if (o.rope) result.push_back(simple(KernelKind::elementwise, "attention.rotate_gradient", 3 * rotated, 2 * p.bytes_of_reals(rotated)));
  for (const double elements : normalised_elements(o, s))
    result.push_back(simple(KernelKind::norm, "attention.norm_gradient", 7 * elements, 3 * p.bytes_of_reals(elements)));
  return result;
}

// Gradients of its weights come with those of its input.
Kernels input_gradient(const StateSpace& o, const Shard& p, const Needed& needed) {
  return any(needed) ? state_space_gradient(o, p) : Kernels{};
}

// The gradient of a scaling needs nothing that the forward pass computed.
Kernels input_gradient(const Unary& o, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0) || o.kind == Unary::Kind::identity) return {};
  const base::Bytes saved = o.kind == Unary::Kind::scale ? base::Bytes(0) : p.bytes_in(0);
  const double flops = (1 + flops_per_element(o.kind)) * count(p.in[0]);
  return {simple(KernelKind::elementwise, "unary.input_gradient", flops, p.bytes_out() + saved + p.bytes_in(0))};
}
// A gradient that is the output's gradient itself costs nothing; one of a broadcast input is summed over what was broadcast.
Kernels input_gradient(const Binary& o, const Shard& p, const Needed& needed) {
  Kernels result;
  const double n = count(p.out[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!wanted(needed, i)) continue;
    const bool broadcast = count(p.in[i]) < n;
    const bool computes = o.kind == Binary::Kind::multiply || (o.kind == Binary::Kind::subtract && i == 1);
    const base::Bytes factor = o.kind == Binary::Kind::multiply ? p.bytes_in(1 - i) : base::Bytes(0);
    if (broadcast)
      result.push_back(
          simple(KernelKind::reduction, "binary.broadcast_gradient", (computes ? 2 : 1) * n, p.bytes_out() + factor + p.bytes_in(i)));
    else if (computes)
      result.push_back(simple(KernelKind::elementwise, "binary.input_gradient", n, p.bytes_out() + factor + p.bytes_in(i)));
  }
  return result;
}
Kernels copies_back(std::string_view name, const Shard& p, const Needed& needed, KernelKind kind = KernelKind::copy) {
  base::Bytes bytes;
  for (std::size_t j = 0; j < p.out.size(); ++j) bytes += p.bytes_out(j);
  for (std::size_t i = 0; i < p.in.size(); ++i)
    if (wanted(needed, i)) bytes += p.bytes_in(i);
  if (!any(needed)) return {};
  return {simple(kind, name, 0, bytes)};
}
Kernels input_gradient(const Concat&, const Shard& p, const Needed& n) { return copies_back("concat.input_gradient", p, n); }
Kernels input_gradient(const Split&, const Shard& p, const Needed& n) { return copies_back("split.input_gradient", p, n); }
Kernels input_gradient(const Slice&, const Shard& p, const Needed& n) { return copies_back("slice.input_gradient", p, n); }
Kernels input_gradient(const Transpose&, const Shard& p, const Needed& n) { return copies_back("transpose.input_gradient", p, n); }
Kernels input_gradient(const MoeDispatch&, const Shard& p, const Needed& n) {
  return copies_back("moe_dispatch.input_gradient", p, n, KernelKind::permutation);
}
Kernels input_gradient(const Broadcast&, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  return {simple(KernelKind::reduction, "broadcast.input_gradient", count(p.out[0]), p.bytes_out() + p.bytes_in(0))};
}
Kernels input_gradient(const Dropout& o, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0) || o.rate == 0) return {};
  return {simple(KernelKind::elementwise, "dropout.input_gradient", 2 * count(p.in[0]),
                 p.bytes_out() + base::Bytes(count(p.in[0])) + p.bytes_in(0))};
}
Kernels input_gradient(const Reduction&, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};
  return {simple(KernelKind::copy, "reduction.input_gradient", 0, p.bytes_out() + p.bytes_in(0))};
}
Kernels input_gradient(const CrossEntropy&, const Shard& p, const Needed& needed) {
  if (!wanted(needed, 0)) return {};  // softmax minus one at the label, times the loss' gradient
  return {simple(KernelKind::loss, "cross_entropy.input_gradient", 2 * count(p.in[0]), p.bytes_out() + p.bytes_in(1) + 2 * p.bytes_in(0))};
}
Kernels input_gradient(const SquaredError&, const Shard& p, const Needed& needed) {
  if (!any(needed)) return {};
  return {
      simple(KernelKind::loss, "squared_error.input_gradient", 3 * count(p.in[0]), p.bytes_out() + p.bytes_of_inputs() + p.bytes_in(0))};
}
Kernels input_gradient(const MoeCombine&, const Shard& p, const Needed& needed) {
  Kernels result;
  if (wanted(needed, 0))
    result.push_back(
        simple(KernelKind::permutation, "moe_combine.input_gradient", count(p.in[0]), p.bytes_out() + p.bytes_in(1) + p.bytes_in(0)));
  if (wanted(needed, 1))
    result.push_back(simple(KernelKind::reduction, "moe_combine.gate_gradient", 2 * count(p.in[0]), p.bytes_out() + p.bytes_of_inputs()));
  return result;
}

template <class Other>
Kernels weight_gradient(const Other&, const Shard&) {
  return {};
}

// Of x . w + bias. The kernels of a convolution are stored by output.
template <class Product>
Kernels product_weight_gradient(const Product& o, std::string_view name, std::string_view bias, const Shard& p) {
  constexpr bool convolves = std::is_same_v<Product, Conv2d>;
  const MatmulSizes s = sizes_of(o, p);
  const base::Bytes bytes = p.bytes_in(0) + p.bytes_out() + p.bytes_in(1);
  Kernels result{matmul(name, s.batch, convolves ? s.n : s.k, convolves ? s.k : s.n, s.m, bytes)};
  if (convolves) result.back().kind = KernelKind::convolution;
  if (p.in.size() > 2) result.push_back(simple(KernelKind::reduction, bias, count(p.out[0]), p.bytes_out() + p.bytes_in(2)));
  return result;
}
Kernels weight_gradient(const Linear& o, const Shard& p) {
  return product_weight_gradient(o, "linear.weight_gradient", "linear.bias_gradient", p);
}
Kernels weight_gradient(const ExpertLinear& o, const Shard& p) {
  return product_weight_gradient(o, "expert_linear.weight_gradient", "expert_linear.bias_gradient", p);
}
Kernels weight_gradient(const Conv2d& o, const Shard& p) {
  return product_weight_gradient(o, "conv2d.weight_gradient", "conv2d.bias_gradient", p);
}
Kernels norm_weight_gradient(std::string_view name, const Shard& p) {
  return {simple(KernelKind::norm, name, 4 * count(p.in[0]), p.bytes_of_inputs() + p.bytes_out())};
}
Kernels weight_gradient(const LayerNorm&, const Shard& p) { return norm_weight_gradient("layer_norm.weight_gradient", p); }
Kernels weight_gradient(const BatchNorm&, const Shard& p) { return norm_weight_gradient("batch_norm.weight_gradient", p); }
Kernels weight_gradient(const Attention& o, const Shard& p) {
  const AttentionSizes s = sizes_of(o, p);
  Kernels result;
  for (const double elements : normalised_elements(o, s))
    result.push_back(simple(KernelKind::norm, "attention.gain_gradient", 4 * elements, 2 * p.bytes_of_reals(elements)));
  // A sink's gradient is a sum over the queries of the output times its gradient, which are read for it.
  if (o.sinks)
    result.push_back(
        simple(KernelKind::reduction, "attention.sink_gradient", 2 * s.output_elements, 2 * p.bytes_of_reals(s.output_elements)));
  if (o.has_bias)
    result.push_back(simple(KernelKind::reduction, "attention.position_bias_gradient", s.scores,
                            p.bytes_of_reals(s.scores) + p.bytes_in(p.in.size() - 1)));
  return result;
}
// Rows of the gradient are read, added to and written; the rest of the table is not touched.
Kernels rows_gradient(std::string_view name, double rows, const Shard& p) {
  return {simple(KernelKind::embedding, name, rows, p.bytes_in(0) + p.bytes_out() + 2 * p.bytes_of_reals(rows))};
}
Kernels weight_gradient(const Embedding&, const Shard& p) { return rows_gradient("embedding.weight_gradient", count(p.out[0]), p); }
Kernels weight_gradient(const EmbeddingBag&, const Shard& p) {
  return rows_gradient("embedding_bag.weight_gradient", count(p.in[0]) * static_cast<double>(p.out[0].sizes.back()), p);
}

}  // namespace
}  // namespace work

bool multiplies_for_weights(const Operator& op) {
  return std::holds_alternative<Linear>(op) || std::holds_alternative<ExpertLinear>(op) || std::holds_alternative<Conv2d>(op);
}

std::vector<Kernel> input_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs,
                                           const std::vector<bool>& needed, Precision p) {
  const work::Shard shard{inputs, outputs, p};
  return std::visit([&](const auto& o) { return work::input_gradient(o, shard, needed); }, op);
}

std::vector<Kernel> weight_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs,
                                            Precision p) {
  const work::Shard shard{inputs, outputs, p};
  return std::visit([&](const auto& o) { return work::weight_gradient(o, shard); }, op);
}

}  // namespace pcg
