// Shape inference, one function per operator: it checks that the inputs fit and returns the outputs.

#include "pcg/operators/operator_shapes.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "pcg/operators/weights.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = std::int64_t{1} << 60;  // of one tensor: counts and bytes then fit in 64 bits

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw ShapeError(fmt::format(text, std::forward<Args>(args)...));
}

TensorShape real(Sizes s) { return {.sizes = std::move(s), .element = Element::real}; }

void expect_inputs(std::string_view name, Shapes in, std::size_t count) {
  if (in.size() != count) refuse("{}: has {} inputs, expected {}", name, in.size(), count);
}
void expect_rank(std::string_view name, Shapes in, std::size_t i, std::size_t rank) {
  if (in[i].sizes.size() != rank) refuse("{}: input {} is {}, expected {} dims", name, i, to_text(in[i]), rank);
}
void expect_rank_at_least(std::string_view name, Shapes in, std::size_t i, std::size_t rank) {
  if (in[i].sizes.size() < rank) refuse("{}: input {} is {}, expected at least {} dims", name, i, to_text(in[i]), rank);
}
void expect_shape(std::string_view name, Shapes in, std::size_t i, const Sizes& sizes) {
  if (in[i].sizes != sizes) refuse("{}: input {} is {}, expected [{}]", name, i, to_text(in[i]), fmt::join(sizes, ", "));
}
void expect_element(std::string_view name, Shapes in, std::size_t i, Element element) {
  if (in[i].element != element)
    refuse("{}: input {} holds {}, expected {}", name, i, element == Element::index ? "numbers" : "indices",
           element == Element::index ? "indices" : "numbers");
}
// Weights after `activations` inputs are as weight_shapes() says.
void expect_weights(const Operator& op, Shapes in, std::size_t activations) {
  const std::string_view name = kind_name(op);
  if (in.size() < activations) refuse("{}: has {} inputs, expected at least {}", name, in.size(), activations);
  const std::vector<TensorShape> weights = weight_shapes(op, in.first(activations));
  expect_inputs(name, in, activations + weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) expect_shape(name, in, activations + i, weights[i].sizes);
}
std::size_t expect_axis(std::string_view name, int axis, std::size_t rank) {
  const int dims = static_cast<int>(rank);
  if (axis < -dims || axis >= dims) refuse("{}: axis {} of a tensor of {} dims", name, axis, rank);
  return resolve_axis(axis, rank);
}
std::int64_t window_count(std::string_view name, std::int64_t size, const Window& w) {
  if (w.kernel < 1 || w.stride < 1 || w.padding < 0) refuse("{}: kernel {}, stride {}, padding {}", name, w.kernel, w.stride, w.padding);
  const std::int64_t padded = size + 2 * w.padding;
  if (padded < w.kernel) refuse("{}: kernel {} does not fit in {} with padding {}", name, w.kernel, size, w.padding);
  return (padded - w.kernel) / w.stride + 1;
}
std::int64_t expert_capacity(std::string_view name, int top_k, double capacity_factor, std::int64_t sequence, std::int64_t experts) {
  if (experts < 1 || top_k < 1 || top_k > experts) refuse("{}: top {} of {} experts", name, top_k, experts);
  return static_cast<std::int64_t>(std::ceil(top_k * static_cast<double>(sequence) * capacity_factor / static_cast<double>(experts)));
}

std::vector<TensorShape> infer(const Input& o, Shapes in) {
  expect_inputs("input", in, 0);
  return {o.shape};
}
std::vector<TensorShape> infer(const Weight& o, Shapes in) {
  expect_inputs("weight", in, 0);
  return {o.shape};
}
std::vector<TensorShape> infer(const Linear& o, Shapes in) {
  expect_weights(o, in, 1);
  Sizes out = in[0].sizes;
  out.back() = o.out;
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const BatchMatmul& o, Shapes in) {
  expect_inputs("batch_matmul", in, 2);
  expect_rank_at_least("batch_matmul", in, 0, 2);
  const std::size_t rank = in[0].sizes.size();
  expect_rank("batch_matmul", in, 1, rank);
  Sizes out = in[0].sizes;
  Sizes b = in[0].sizes;
  out.back() = in[1].sizes[o.transpose_b ? rank - 2 : rank - 1];
  b[rank - 2] = o.transpose_b ? out.back() : in[0].sizes.back();
  b[rank - 1] = o.transpose_b ? in[0].sizes.back() : out.back();
  expect_shape("batch_matmul", in, 1, b);
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const Conv2d& o, Shapes in) {
  if (!in.empty()) expect_rank("conv2d", in, 0, 4);
  expect_weights(o, in, 1);
  if (o.out % o.groups != 0) refuse("conv2d: {} output channels do not divide into {} groups", o.out, o.groups);
  const Sizes& x = in[0].sizes;
  return {real({x[0], o.out, window_count("conv2d", x[2], o.rows), window_count("conv2d", x[3], o.columns)})};
}
std::vector<TensorShape> infer(const Pool2d& o, Shapes in) {
  expect_inputs("pool2d", in, 1);
  expect_rank("pool2d", in, 0, 4);
  const Sizes& x = in[0].sizes;
  if (o.rows.kernel == 0 || o.columns.kernel == 0) return {real({x[0], x[1], 1, 1})};
  return {real({x[0], x[1], window_count("pool2d", x[2], o.rows), window_count("pool2d", x[3], o.columns)})};
}
std::vector<TensorShape> infer(const LayerNorm& o, Shapes in) {
  expect_weights(o, in, 1);
  return {in[0]};
}
std::vector<TensorShape> infer(const BatchNorm& o, Shapes in) {
  if (!in.empty()) expect_rank("batch_norm", in, 0, 4);
  expect_weights(o, in, 1);
  return {in[0]};
}
std::vector<TensorShape> infer(const Softmax& o, Shapes in) {
  expect_inputs("softmax", in, 1);
  (void)expect_axis("softmax", o.axis, in[0].sizes.size());
  return {in[0]};
}

// The size of one head, checked against the last dim of input i that holds `parts` of them.
std::int64_t head_size(Shapes in, std::size_t i, std::int64_t parts) {
  expect_rank_at_least("attention", in, i, 2);
  const std::int64_t width = in[i].sizes.back();
  if (width % parts != 0) refuse("attention: input {} is {}, its last dim does not divide into {} heads", i, to_text(in[i]), parts);
  return width / parts;
}
std::vector<TensorShape> infer(const Attention& o, Shapes in) {
  if (o.heads < 1 || o.kv_heads < 1 || o.heads % o.kv_heads != 0)
    refuse("attention: {} heads do not divide into {} groups of one key and value head", o.heads, o.kv_heads);
  const std::size_t activations = o.packed ? 1 : 3;
  expect_inputs("attention", in, activations + (o.has_bias ? 1 : 0));
  Sizes out = in[0].sizes;
  if (o.packed) {
    out.back() = head_size(in, 0, o.heads + 2 * o.kv_heads) * o.heads;
  } else {
    const std::int64_t d = head_size(in, 0, o.heads);
    expect_rank("attention", in, 1, out.size());
    Sizes keys = in[0].sizes;  // queries and keys may differ in length (cross attention), not in what comes before
    keys[keys.size() - 2] = in[1].sizes[keys.size() - 2];
    keys.back() = d * o.kv_heads;
    expect_shape("attention", in, 1, keys);
    expect_shape("attention", in, 2, keys);
  }
  if (o.has_bias) {
    expect_rank("attention", in, activations, 2);
    expect_shape("attention", in, activations, {in[activations].sizes[0], o.heads});
  }
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const Embedding& o, Shapes in) {
  expect_weights(o, in, 1);
  expect_element("embedding", in, 0, Element::index);
  Sizes out = in[0].sizes;
  out.push_back(o.width);
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const EmbeddingBag& o, Shapes in) {
  expect_weights(o, in, 1);
  expect_rank("embedding_bag", in, 0, 2);
  expect_element("embedding_bag", in, 0, Element::index);
  return {real({in[0].sizes[0], o.width})};
}
std::vector<TensorShape> infer(const Unary&, Shapes in) {
  expect_inputs("unary", in, 1);
  return {in[0]};
}
std::vector<TensorShape> infer(const Binary&, Shapes in) {
  expect_inputs("binary", in, 2);
  const Sizes& a = in[0].sizes;
  const Sizes& b = in[1].sizes;
  const auto fits = [](std::int64_t wide, std::int64_t narrow) { return narrow == wide || narrow == 1; };
  if (b.size() > a.size() || !std::equal(b.rbegin(), b.rend(), a.rbegin(), [&](auto narrow, auto wide) { return fits(wide, narrow); }))
    refuse("binary: input 1 is {}, which does not broadcast to {}", to_text(in[1]), to_text(in[0]));
  return {in[0]};
}
std::vector<TensorShape> infer(const Concat& o, Shapes in) {
  if (in.empty()) refuse("concat: has no inputs");
  const std::size_t axis = expect_axis("concat", o.axis, in[0].sizes.size());
  TensorShape out = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) {
    expect_rank("concat", in, i, out.sizes.size());
    Sizes expected = out.sizes;
    expected[axis] = in[i].sizes[axis];
    expect_shape("concat", in, i, expected);
    out.sizes[axis] += in[i].sizes[axis];
  }
  return {out};
}
std::vector<TensorShape> infer(const Split& o, Shapes in) {
  expect_inputs("split", in, 1);
  const std::size_t axis = expect_axis("split", o.axis, in[0].sizes.size());
  std::vector<TensorShape> result;
  std::int64_t total = 0;
  for (const std::int64_t size : o.sizes) {
    if (size < 1) refuse("split: a piece of size {}", size);
    result.push_back(in[0]);
    result.back().sizes[axis] = size;
    total += size;
  }
  if (total != in[0].sizes[axis])
    refuse("split: pieces of {} add up to {}, axis {} is {}", fmt::join(o.sizes, ", "), total, axis, in[0].sizes[axis]);
  return result;
}
std::vector<TensorShape> infer(const Slice& o, Shapes in) {
  expect_inputs("slice", in, 1);
  const std::size_t axis = expect_axis("slice", o.axis, in[0].sizes.size());
  TensorShape out = in[0];
  if (o.begin < 0 || o.length < 1 || o.begin + o.length > out.sizes[axis])
    refuse("slice: [{}, {}) of axis {}, which is {}", o.begin, o.begin + o.length, axis, out.sizes[axis]);
  out.sizes[axis] = o.length;
  return {out};
}
std::vector<TensorShape> infer(const Reshape& o, Shapes in) {
  expect_inputs("reshape", in, 1);
  TensorShape out = in[0];
  out.sizes = o.sizes;
  std::optional<std::size_t> rest;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < out.sizes.size(); ++i) {
    std::int64_t& size = out.sizes[i];
    if (size == 0 && i < in[0].sizes.size()) size = in[0].sizes[i];
    if (size == -1 && !rest) rest = i;
    else if (size < 1 || size > kMostElements / known) refuse("reshape: [{}] of {}", fmt::join(o.sizes, ", "), to_text(in[0]));
    else known *= size;
  }
  if (rest) out.sizes[*rest] = in[0].elements() / known;
  if (out.elements() != in[0].elements()) refuse("reshape: {} does not become [{}]", to_text(in[0]), fmt::join(o.sizes, ", "));
  return {out};
}
std::vector<TensorShape> infer(const Transpose& o, Shapes in) {
  expect_inputs("transpose", in, 1);
  std::vector<int> sorted = o.permutation;
  std::ranges::sort(sorted);
  TensorShape out = in[0];
  bool lawful = sorted.size() == out.sizes.size();
  for (std::size_t i = 0; lawful && i < sorted.size(); ++i) lawful = sorted[i] == static_cast<int>(i);
  if (!lawful) refuse("transpose: [{}] is no permutation of the dims of {}", fmt::join(o.permutation, ", "), to_text(in[0]));
  for (std::size_t i = 0; i < sorted.size(); ++i) out.sizes[i] = in[0].sizes[static_cast<std::size_t>(o.permutation[i])];
  return {out};
}
std::vector<TensorShape> infer(const Broadcast& o, Shapes in) {
  expect_inputs("broadcast", in, 1);
  const std::size_t axis = expect_axis("broadcast", o.axis, in[0].sizes.size());
  TensorShape out = in[0];
  if (out.sizes[axis] != 1 || o.size < 1) refuse("broadcast: axis {} of {} to {}, expected a dim of size 1", axis, to_text(in[0]), o.size);
  out.sizes[axis] = o.size;
  return {out};
}
std::vector<TensorShape> infer(const Dropout&, Shapes in) {
  expect_inputs("dropout", in, 1);
  return {in[0]};
}
std::vector<TensorShape> infer(const Reduction& o, Shapes in) {
  expect_inputs("reduction", in, 1);
  const std::size_t axis = expect_axis("reduction", o.axis, in[0].sizes.size());
  TensorShape out = in[0];
  out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  return {out};
}
std::vector<TensorShape> infer(const CrossEntropy&, Shapes in) {
  expect_inputs("cross_entropy", in, 2);
  expect_rank_at_least("cross_entropy", in, 0, 1);
  Sizes positions = in[0].sizes;
  positions.pop_back();
  expect_shape("cross_entropy", in, 1, positions);
  expect_element("cross_entropy", in, 1, Element::index);
  return {real(std::move(positions))};
}
std::vector<TensorShape> infer(const SquaredError&, Shapes in) {
  expect_inputs("squared_error", in, 2);
  expect_shape("squared_error", in, 1, in[0].sizes);
  return {in[0]};
}
std::vector<TensorShape> infer(const Summands& o, Shapes in) {
  if (o.parts.empty()) refuse("summands: has no inputs");
  expect_inputs("summands", in, o.parts.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (o.parts[i] < 1) refuse("summands: {} parts of input {}", o.parts[i], i);
    expect_shape("summands", in, i, in[0].sizes);
    expect_element("summands", in, i, Element::real);
  }
  return {in[0]};
}
std::vector<TensorShape> infer(const MoeDispatch& o, Shapes in) {
  expect_inputs("moe_dispatch", in, 2);
  expect_rank("moe_dispatch", in, 0, 3);
  expect_rank("moe_dispatch", in, 1, 3);
  const Sizes& x = in[0].sizes;
  const std::int64_t experts = in[1].sizes[2];
  expect_shape("moe_dispatch", in, 1, {x[0], x[1], experts});
  return {real({experts, x[0], expert_capacity("moe_dispatch", o.top_k, o.capacity_factor, x[1], experts), x[2]})};
}
std::vector<TensorShape> infer(const ExpertLinear& o, Shapes in) {
  if (!in.empty()) expect_rank("expert_linear", in, 0, 4);
  expect_weights(o, in, 1);
  Sizes out = in[0].sizes;
  out.back() = o.out;
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const MoeCombine& o, Shapes in) {
  expect_inputs("moe_combine", in, 2);
  expect_rank("moe_combine", in, 0, 4);
  expect_rank("moe_combine", in, 1, 3);
  const Sizes& gates = in[1].sizes;
  const std::int64_t width = in[0].sizes.back();
  expect_shape("moe_combine", in, 0,
               {gates[2], gates[0], expert_capacity("moe_combine", o.top_k, o.capacity_factor, gates[1], gates[2]), width});
  return {real({gates[0], gates[1], width})};
}

}  // namespace

std::vector<TensorShape> infer_shapes(const Operator& op, std::span<const TensorShape> inputs) {
  std::vector<TensorShape> outputs = std::visit([&](const auto& o) { return infer(o, inputs); }, op);
  for (const TensorShape& s : outputs) {
    double elements = 1;
    for (const std::int64_t size : s.sizes) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(kMostElements)) refuse("{}: {} is too large", kind_name(op), to_text(s));
  }
  return outputs;
}

}  // namespace pcg
