// Forward kernels, one function per operator. Bytes: each operand and each result once.
#include "pcg/work/work.hpp"

#include <array>

#include "pcg/work/work_parts.hpp"

namespace pcg {

namespace work {
namespace {

// Operators that give no kernel: sources, and views that only rename elements.
template <class Other>
Kernels forward(const Other&, const Shard&) {
  return {};
}

// A pass over all inputs.
Kernel pass(KernelKind kind, std::string_view name, double flops, const Shard& p) {
  return simple(kind, name, flops, p.bytes_of_inputs() + p.bytes_out());
}
Kernel product(std::string_view name, const MatmulSizes& s, const Shard& p) {
  return matmul(name, s.batch, s.m, s.n, s.k, p.bytes_of_inputs() + p.bytes_out());
}

// Bias and activation run in the epilogue of the matmul and cost it nothing but the bias' bytes.
Kernels forward(const Linear& o, const Shard& p) { return {product("linear.forward", sizes_of(o, p), p)}; }
Kernels forward(const BatchMatmul& o, const Shard& p) { return {product("batch_matmul.forward", sizes_of(o, p), p)}; }
Kernels forward(const ExpertLinear& o, const Shard& p) { return {product("expert_linear.forward", sizes_of(o, p), p)}; }
Kernels forward(const Conv2d& o, const Shard& p) {
  Kernel k = product("conv2d.forward", sizes_of(o, p), p);
  k.kind = KernelKind::convolution;
  return {k};
}
// One comparison or addition for each element of a window; kernel 0 is the whole plane.
Kernels forward(const Pool2d& o, const Shard& p) {
  const bool whole = o.rows.kernel == 0 || o.columns.kernel == 0;
  const double window = whole ? count(p.in[0]) / count(p.out[0]) : o.rows.kernel * o.columns.kernel;
  return {pass(KernelKind::pooling, "pool2d.forward", window * count(p.out[0]), p)};
}
Kernels forward(const LayerNorm& o, const Shard& p) {
  // Mean, centre, square and add, divide, gain, bias; without mean, centre and bias when only the root mean square is taken.
  const double flops = (o.rms ? 4 : 7) * count(p.in[0]);
  return {pass(KernelKind::norm, "layer_norm.forward", flops, p)};
}
Kernels forward(const BatchNorm&, const Shard& p) { return {pass(KernelKind::norm, "batch_norm.forward", 7 * count(p.in[0]), p)}; }
Kernel softmax_over(std::string_view name, double elements, base::Bytes bytes) {
  return simple(KernelKind::softmax, name, 5 * elements, bytes);  // compare, subtract, exp, add, divide
}
Kernels forward(const Softmax&, const Shard& p) { return {softmax_over("softmax.forward", count(p.in[0]), p.bytes_in(0) + p.bytes_out())}; }

// FlashAttention computes only the blocks below the diagonal when causal, and only those of a window (Dao, arXiv 2307.08691, section 3.1).
Kernels flash_forward(const Attention& o, const Shard& p, const AttentionSizes& s) {
  return {flash_kernel("attention.flash_forward", s, s.dims.query + s.dims.value, bytes_met(o, p) + p.bytes_out())};  // q.k and scores.v
}
// The whole square is computed, the mask is added by the softmax kernel, which also scales.
Kernels unfused_forward(const Attention& o, const Shard& p, const AttentionSizes& s) {
  const base::Bytes q = p.bytes_of_reals(s.query_elements), y = p.bytes_of_reals(s.output_elements);
  const base::Bytes k = p.bytes_of_reals(s.key_elements), v = p.bytes_of_reals(s.value_elements);
  const base::Bytes scores = p.bytes_of_reals(s.scores);
  Kernels result{matmul("attention.scores", s.samples * s.heads, s.queries, s.keys, s.dims.query, q + k + scores)};
  if (o.has_bias)
    result.push_back(simple(KernelKind::elementwise, "attention.position_bias", s.scores, 2 * scores + p.bytes_in(p.in.size() - 1)));
  result.push_back(softmax_over("attention.softmax", s.scores, 2 * scores));
  if (o.dropout > 0)
    result.push_back(simple(KernelKind::elementwise, "attention.dropout", 2 * s.scores, 2 * scores + base::Bytes(s.scores)));
  result.push_back(matmul("attention.context", s.samples * s.heads, s.queries, s.dims.value, s.keys, scores + v + y));
  return result;
}
Kernels forward(const Attention& o, const Shard& p) {
  const AttentionSizes s = sizes_of(o, p);
  Kernels result;
  for (const double elements : normalised_elements(o, s))
    result.push_back(simple(KernelKind::norm, "attention.norm", 4 * elements, 2 * p.bytes_of_reals(elements)));
  const double rotated = rotated_elements(o, s);
  if (o.rope) result.push_back(simple(KernelKind::elementwise, "attention.rotate", 3 * rotated, 2 * p.bytes_of_reals(rotated)));
  // The kernel that rotates the shared dims lays out keys and values head by head.
  if (o.latent) result.push_back(simple(KernelKind::copy, "attention.join_keys", 0, p.bytes_in(1) + p.bytes_in(2) + bytes_joined(p, s)));
  if (const double copies = copies_of_keys(o); copies > 1)
    result.push_back(simple(KernelKind::copy, "attention.repeat_keys", 0, (1 + copies) * bytes_joined(p, s)));
  const Kernels core = o.flash ? flash_forward(o, p, s) : unfused_forward(o, p, s);
  result.insert(result.end(), core.begin(), core.end());
  return result;
}

Kernels forward(const StateSpace& o, const Shard& p) { return state_space_forward(o, p); }
Kernels forward(const Embedding&, const Shard& p) {  // only the rows that are asked for are read
  return {simple(KernelKind::embedding, "embedding.forward", 0, p.bytes_in(0) + 2 * p.bytes_out())};
}
Kernels forward(const EmbeddingBag&, const Shard& p) {
  const double rows = count(p.in[0]) * static_cast<double>(p.out[0].sizes.back());
  return {simple(KernelKind::embedding, "embedding_bag.forward", rows, p.bytes_in(0) + p.bytes_of_reals(rows) + p.bytes_out())};
}
Kernels forward(const Unary& o, const Shard& p) {
  if (o.kind == Unary::Kind::identity) return {};
  return {pass(KernelKind::elementwise, "unary.forward", flops_per_element(o.kind) * count(p.in[0]), p)};
}
Kernels forward(const Binary&, const Shard& p) { return {pass(KernelKind::elementwise, "binary.forward", count(p.out[0]), p)}; }
Kernels forward(const Concat&, const Shard& p) { return {pass(KernelKind::copy, "concat.forward", 0, p)}; }
Kernels forward(const Transpose&, const Shard& p) { return {pass(KernelKind::copy, "transpose.forward", 0, p)}; }
Kernels forward(const Broadcast&, const Shard& p) { return {pass(KernelKind::copy, "broadcast.forward", 0, p)}; }
Kernels forward(const Dropout& o, const Shard& p) {
  if (o.rate == 0) return {};
  return {
      simple(KernelKind::elementwise, "dropout.forward", 2 * count(p.in[0]), p.bytes_in(0) + p.bytes_out() + base::Bytes(count(p.in[0])))};
}
Kernels forward(const Reduction&, const Shard& p) { return {pass(KernelKind::reduction, "reduction.forward", count(p.in[0]), p)}; }
Kernels forward(const CrossEntropy&, const Shard& p) {  // a softmax and a logarithm
  return {pass(KernelKind::loss, "cross_entropy.forward", 5 * count(p.in[0]), p)};
}
Kernels forward(const SquaredError&, const Shard& p) { return {pass(KernelKind::loss, "squared_error.forward", 2 * count(p.in[0]), p)}; }
Kernels forward(const MoeDispatch&, const Shard& p) { return {pass(KernelKind::permutation, "moe_dispatch.forward", 0, p)}; }
Kernels forward(const MoeCombine&, const Shard& p) { return {pass(KernelKind::permutation, "moe_combine.forward", 2 * count(p.in[0]), p)}; }

}  // namespace
}  // namespace work

std::vector<Kernel> forward_kernels(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs,
                                    Precision p) {
  const work::Shard shard{inputs, outputs, p};
  return std::visit([&](const auto& o) { return work::forward(o, shard); }, op);
}

std::string_view to_text(KernelKind k) {
  constexpr auto kNames = std::to_array<std::string_view>({"matmul", "convolution", "attention", "softmax", "norm", "elementwise",
                                                           "embedding", "pooling", "reduction", "copy", "permutation", "strided", "loss",
                                                           "optimizer", "attention_gradient", "scan", "scan_gradient"});
  static_assert(kNames.size() == static_cast<std::size_t>(KernelKind::scan_gradient) + 1);
  return kNames[static_cast<std::size_t>(k)];
}

}  // namespace pcg
