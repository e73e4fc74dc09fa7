#include "pcg/operators/operator_shapes.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = std::int64_t{1} << 60;  // of one tensor: counts and bytes then fit in 64 bits

// The inputs of one operator while they are checked. A check that fails notes why and returns false; the first reason counts.
class Checked {
 public:
  Checked(const Operator& op, Shapes in) : op_(op), in_(in) {}

  [[nodiscard]] std::size_t count() const { return in_.size(); }
  [[nodiscard]] const TensorShape& shape(std::size_t i) const { return in_[i]; }
  [[nodiscard]] Shapes shapes() const { return in_; }
  [[nodiscard]] const Sizes& sizes(std::size_t i) const { return in_[i].sizes; }
  [[nodiscard]] const std::optional<base::Refusal>& refusal() const { return refusal_; }

  // Notes "KIND: TEXT".
  template <class... Args>
  bool refuse(fmt::format_string<Args...> text, Args&&... args) {
    if (!refusal_) refusal_ = base::Refusal{fmt::format("{}: {}", kind_name(op_), fmt::format(text, std::forward<Args>(args)...))};
    return false;
  }
  // The same for a function that returns outputs: none.
  template <class... Args>
  [[nodiscard]] std::vector<TensorShape> refused(fmt::format_string<Args...> text, Args&&... args) {
    refuse(text, std::forward<Args>(args)...);
    return {};
  }
  // The output where what it needs `fits`, else none: in the shape of input 0, or of its sizes but for the last.
  [[nodiscard]] std::vector<TensorShape> like_input(bool fits) const { return fits ? std::vector{in_[0]} : std::vector<TensorShape>(); }
  [[nodiscard]] std::vector<TensorShape> with_last(std::int64_t size, bool fits = true) const {
    if (!fits) return {};
    Sizes out = sizes(0);
    out.back() = size;
    return {real(std::move(out))};
  }
  [[nodiscard]] bool inputs(std::size_t expected) {
    return in_.size() == expected || refuse("has {} inputs, expected {}", in_.size(), expected);
  }
  [[nodiscard]] bool rank(std::size_t i, std::size_t expected) {
    return sizes(i).size() == expected || refuse("input {} is {}, expected {} dims", i, to_text(in_[i]), expected);
  }
  [[nodiscard]] bool rank_at_least(std::size_t i, std::size_t expected) {
    return sizes(i).size() >= expected || refuse("input {} is {}, expected at least {} dims", i, to_text(in_[i]), expected);
  }
  [[nodiscard]] bool is(std::size_t i, const Sizes& expected) {
    return sizes(i) == expected || refuse("input {} is {}, expected [{}]", i, to_text(in_[i]), fmt::join(expected, ", "));
  }
  [[nodiscard]] bool holds(std::size_t i, Element expected) {
    const auto word = [](Element e) { return e == Element::index ? "indices" : "numbers"; };
    return in_[i].element == expected || refuse("input {} holds {}, expected {}", i, word(in_[i].element), word(expected));
  }
  // The weights after the first `activations` inputs are as weight_shapes() says.
  [[nodiscard]] bool weights(std::size_t activations) {
    if (in_.size() < activations) return refuse("has {} inputs, expected at least {}", in_.size(), activations);
    const base::Attempt<std::vector<TensorShape>> wanted = try_weight_shapes(op_, in_.first(activations));
    if (!wanted) {
      if (!refusal_) refusal_ = wanted.refusal();
      return false;
    }
    const std::vector<TensorShape>& weights = *wanted;
    if (!inputs(activations + weights.size())) return false;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (!is(activations + i, weights[i].sizes)) return false;
    return true;
  }
  // An axis of input 0.
  [[nodiscard]] bool axis(int axis) {
    const int dims = static_cast<int>(sizes(0).size());
    return (axis >= -dims && axis < dims) || refuse("axis {} of a tensor of {} dims", axis, dims);
  }
  [[nodiscard]] bool window(std::int64_t size, const Window& w) {
    if (w.kernel < 1 || w.stride < 1 || w.padding < 0) return refuse("kernel {}, stride {}, padding {}", w.kernel, w.stride, w.padding);
    return size + 2 * w.padding >= w.kernel || refuse("kernel {} does not fit in {} with padding {}", w.kernel, size, w.padding);
  }
  template <class Routed>
  [[nodiscard]] bool experts(const Routed& o, std::int64_t experts) {
    if (experts < 1 || o.top_k < 1 || o.top_k > experts) return refuse("top {} of {} experts", o.top_k, experts);
    const bool even = o.groups >= 1 && experts % o.groups == 0 && o.groups_per_token >= 1 && o.groups_per_token <= o.groups;
    return (even && o.top_k <= experts / o.groups * o.groups_per_token) ||
           refuse("top {} of {} experts in {} of {} groups", o.top_k, experts, o.groups_per_token, o.groups);
  }

 private:
  const Operator& op_;
  Shapes in_;
  std::optional<base::Refusal> refusal_;
};

// The number of places of a window along a dim. Requires: it fits.
std::int64_t places(std::int64_t size, const Window& w) { return (size + 2 * w.padding - w.kernel) / w.stride + 1; }

std::int64_t expert_capacity(int top_k, double capacity_factor, std::int64_t sequence, std::int64_t experts) {
  return static_cast<std::int64_t>(std::ceil(top_k * static_cast<double>(sequence) * capacity_factor / static_cast<double>(experts)));
}

// One function per operator: it returns the outputs, or nothing after a check has failed.

std::vector<TensorShape> infer(const Input& o, Checked& in) {
  if (!in.inputs(0)) return {};
  return {o.shape};
}
std::vector<TensorShape> infer(const Weight& o, Checked& in) {
  if (!in.inputs(0)) return {};
  if (o.parts.empty()) return {o.shape};
  if (o.along < 0 || static_cast<std::size_t>(o.along) >= o.shape.sizes.size())
    return in.refused("parts lie side by side along axis {} of {}", o.along, to_text(o.shape));
  const auto along = static_cast<std::size_t>(o.along);
  std::int64_t sum = 0;
  for (const WeightPart& p : o.parts) {
    if (p.whole.size() != p.sizes.size() || p.begin.size() != p.sizes.size() || p.sizes.size() != o.shape.sizes.size())
      return in.refused("the part of \"{}\" has other dims than {}", p.of, to_text(o.shape));
    for (std::size_t d = 0; d < p.sizes.size(); ++d) {
      if (p.begin[d] < 0 || p.sizes[d] < 1 || p.begin[d] + p.sizes[d] > p.whole[d])
        return in.refused("the part of \"{}\" has {} from {} of axis {}, which is {}", p.of, p.sizes[d], p.begin[d], d, p.whole[d]);
      if (d != along && p.sizes[d] != o.shape.sizes[d])
        return in.refused("the part of \"{}\" has {} of axis {}, where the weight has {}", p.of, p.sizes[d], d, o.shape.sizes[d]);
    }
    sum += p.sizes[along];
  }
  if (sum != o.shape.sizes[along]) return in.refused("the parts have {} of axis {}, which is {}", sum, o.along, o.shape.sizes[along]);
  return {o.shape};
}
std::vector<TensorShape> infer(const Linear& o, Checked& in) { return in.with_last(o.out, in.weights(1)); }
std::vector<TensorShape> infer(const BatchMatmul& o, Checked& in) {
  if (!in.inputs(2) || !in.rank_at_least(0, 2)) return {};
  const std::size_t rank = in.sizes(0).size();
  if (!in.rank(1, rank)) return {};
  Sizes b = in.sizes(0);
  const std::int64_t k = b.back(), n = in.sizes(1)[o.transpose_b ? rank - 2 : rank - 1];
  b[rank - 2] = o.transpose_b ? n : k;
  b[rank - 1] = o.transpose_b ? k : n;
  return in.with_last(n, in.is(1, b));
}
std::vector<TensorShape> infer(const Conv2d& o, Checked& in) {
  if ((in.count() > 0 && !in.rank(0, 4)) || !in.weights(1)) return {};
  if (o.out % o.groups != 0) return in.refused("{} output channels do not divide into {} groups", o.out, o.groups);
  const Sizes& x = in.sizes(0);
  if (!in.window(x[2], o.rows) || !in.window(x[3], o.columns)) return {};
  return {real({x[0], o.out, places(x[2], o.rows), places(x[3], o.columns)})};
}
std::vector<TensorShape> infer(const Pool2d& o, Checked& in) {
  if (!in.inputs(1) || !in.rank(0, 4)) return {};
  const Sizes& x = in.sizes(0);
  if (o.rows.kernel == 0 || o.columns.kernel == 0) return {real({x[0], x[1], 1, 1})};
  if (!in.window(x[2], o.rows) || !in.window(x[3], o.columns)) return {};
  return {real({x[0], x[1], places(x[2], o.rows), places(x[3], o.columns)})};
}
std::vector<TensorShape> infer(const LayerNorm&, Checked& in) { return in.like_input(in.weights(1)); }
std::vector<TensorShape> infer(const BatchNorm&, Checked& in) { return in.like_input((in.count() == 0 || in.rank(0, 4)) && in.weights(1)); }
std::vector<TensorShape> infer(const Softmax& o, Checked& in) { return in.like_input(in.inputs(1) && in.axis(o.axis)); }

bool has_heads(Checked& in, std::size_t i, std::int64_t parts) {
  if (!in.rank_at_least(i, 2)) return false;
  return in.sizes(i).back() % parts == 0 ||
         in.refuse("input {} is {}, its last dim does not divide into {} heads", i, to_text(in.shape(i)), parts);
}
// Checks of the operator alone.
bool is_sound(const Attention& o, Checked& in) {
  if (o.heads < 1 || o.kv_heads < 1 || o.heads % o.kv_heads != 0)
    return in.refuse("{} heads do not divide into {} groups of one key and value head", o.heads, o.kv_heads);
  if (o.latent && (o.packed || o.qk_norm)) return in.refuse("latent keys are neither packed nor normalised head by head");
  if (o.window < 0 || (o.window > 0 && !o.causal)) return in.refuse("a window of {} keys, which only causal attention has", o.window);
  return !o.chunked || o.window > 0 || in.refuse("chunks without a window, which is their length");
}

// Keys of the length that input 1 has: what comes before it is as the queries have it.
Sizes keys_of(Checked& in, std::int64_t width) {
  Sizes keys = in.sizes(0);  // queries and keys may differ in length (cross attention), not in what comes before
  keys[keys.size() - 2] = in.sizes(1)[keys.size() - 2];
  keys.back() = width;
  return keys;
}

bool fits_separate(const Attention& o, Checked& in) {
  if (!has_heads(in, 0, o.heads) || !in.rank(1, in.sizes(0).size()) || !in.rank(2, in.sizes(0).size())) return false;
  if (o.latent) {
    const std::int64_t query = in.sizes(0).back() / o.heads, shared = in.sizes(2).back();
    if (!has_heads(in, 1, o.kv_heads)) return false;
    if (shared >= query || in.sizes(1).back() / o.kv_heads <= query - shared)
      return in.refuse("queries of {} numbers, {} of them shared by all keys, with {} for the rest of a key and its value", query, shared,
                       in.sizes(1).back() / o.kv_heads);
    return in.is(1, keys_of(in, in.sizes(1).back())) && in.is(2, keys_of(in, shared));
  }
  return in.is(1, keys_of(in, in.sizes(0).back() / o.heads * o.kv_heads)) && has_heads(in, 2, o.kv_heads) &&
         in.is(2, keys_of(in, in.sizes(2).back()));
}

std::vector<TensorShape> infer(const Attention& o, Checked& in) {
  const std::size_t activations = attention_activations(o);
  if (!is_sound(o, in) || !in.inputs(activations + attention_weights(o))) return {};
  if (o.packed ? !has_heads(in, 0, query_parts(o)) : !fits_separate(o, in)) return {};
  const HeadDims d = head_dims(o, in.shapes());
  std::size_t at = activations;
  for (int gains = o.qk_norm ? 2 : 0; gains > 0; --gains)
    if (!in.is(at++, {d.query})) return {};
  if (o.sinks && !in.is(at++, {o.heads})) return {};
  if (o.has_bias && (!in.rank(at, 2) || !in.is(at, {in.sizes(at)[0], o.heads}))) return {};
  return in.with_last(o.heads * d.value);
}
std::vector<TensorShape> infer(const StateSpace& o, Checked& in) {
  if ((in.count() > 0 && !in.rank_at_least(0, 2)) || !in.weights(1)) return {};
  return in.with_last(state_space_dims(o, in.sizes(0).back()).inner);
}
std::vector<TensorShape> infer(const Embedding& o, Checked& in) {
  if (!in.weights(1) || !in.holds(0, Element::index)) return {};
  Sizes out = in.sizes(0);
  out.push_back(o.width);
  return {real(std::move(out))};
}
std::vector<TensorShape> infer(const EmbeddingBag& o, Checked& in) {
  if (!in.weights(1) || !in.rank(0, 2) || !in.holds(0, Element::index)) return {};
  return {real({in.sizes(0)[0], o.width})};
}
std::vector<TensorShape> infer(const Unary&, Checked& in) { return in.like_input(in.inputs(1)); }
std::vector<TensorShape> infer(const Binary&, Checked& in) {
  if (!in.inputs(2)) return {};
  const Sizes& a = in.sizes(0);
  const Sizes& b = in.sizes(1);
  const auto fits = [](std::int64_t wide, std::int64_t narrow) { return narrow == wide || narrow == 1; };
  if (b.size() > a.size() || !std::equal(b.rbegin(), b.rend(), a.rbegin(), [&](auto narrow, auto wide) { return fits(wide, narrow); }))
    return in.refused("input 1 is {}, which does not broadcast to {}", to_text(in.shape(1)), to_text(in.shape(0)));
  return {in.shape(0)};
}
std::vector<TensorShape> infer(const Concat& o, Checked& in) {
  if (in.count() == 0) return in.refused("has no inputs");
  if (!in.axis(o.axis)) return {};
  const std::size_t axis = resolve_axis(o.axis, in.sizes(0).size());
  TensorShape out = in.shape(0);
  for (std::size_t i = 1; i < in.count(); ++i) {
    if (!in.rank(i, out.sizes.size())) return {};
    Sizes expected = out.sizes;
    expected[axis] = in.sizes(i)[axis];
    if (!in.is(i, expected)) return {};
    out.sizes[axis] += in.sizes(i)[axis];
  }
  return {out};
}
// The sizes are absolute: at another size of the input, resizing maps them like any other size of an operator.
std::vector<TensorShape> infer(const Split& o, Checked& in) {
  if (!in.inputs(1) || !in.axis(o.axis)) return {};
  const std::size_t axis = resolve_axis(o.axis, in.sizes(0).size());
  std::vector<TensorShape> result;
  std::int64_t total = 0;
  for (const std::int64_t size : o.sizes) {
    if (size < 1) return in.refused("a part of size {}", size);
    result.push_back(in.shape(0));
    result.back().sizes[axis] = size;
    total += size;
  }
  if (total != in.sizes(0)[axis])
    return in.refused("parts of {} add up to {}, axis {} is {}", fmt::join(o.sizes, ", "), total, axis, in.sizes(0)[axis]);
  return result;
}
std::vector<TensorShape> infer(const Slice& o, Checked& in) {
  if (!in.inputs(1) || !in.axis(o.axis)) return {};
  const std::size_t axis = resolve_axis(o.axis, in.sizes(0).size());
  TensorShape out = in.shape(0);
  if (o.begin < 0 || o.length < 1 || o.begin + o.length > out.sizes[axis])
    return in.refused("[{}, {}) of axis {}, which is {}", o.begin, o.begin + o.length, axis, out.sizes[axis]);
  out.sizes[axis] = o.length;
  return {out};
}
std::vector<TensorShape> infer(const Reshape& o, Checked& in) {
  if (!in.inputs(1)) return {};
  TensorShape out = in.shape(0);
  out.sizes = o.sizes;
  std::optional<std::size_t> rest;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < out.sizes.size(); ++i) {
    std::int64_t& size = out.sizes[i];
    if (size == 0 && i < in.sizes(0).size()) size = in.sizes(0)[i];
    if (size == -1 && !rest) rest = i;
    else if (size < 1 || size > kMostElements / known) return in.refused("[{}] of {}", fmt::join(o.sizes, ", "), to_text(in.shape(0)));
    else known *= size;
  }
  if (rest) out.sizes[*rest] = in.shape(0).elements() / known;
  if (out.elements() != in.shape(0).elements())
    return in.refused("{} does not become [{}]", to_text(in.shape(0)), fmt::join(o.sizes, ", "));
  return {out};
}
std::vector<TensorShape> infer(const Transpose& o, Checked& in) {
  if (!in.inputs(1)) return {};
  std::vector<int> sorted = o.permutation;
  std::ranges::sort(sorted);
  TensorShape out = in.shape(0);
  bool lawful = sorted.size() == out.sizes.size();
  for (std::size_t i = 0; lawful && i < sorted.size(); ++i) lawful = sorted[i] == static_cast<int>(i);
  if (!lawful) return in.refused("[{}] is no permutation of the dims of {}", fmt::join(o.permutation, ", "), to_text(in.shape(0)));
  for (std::size_t i = 0; i < sorted.size(); ++i) out.sizes[i] = in.sizes(0)[static_cast<std::size_t>(o.permutation[i])];
  return {out};
}
std::vector<TensorShape> infer(const Broadcast& o, Checked& in) {
  if (!in.inputs(1) || !in.axis(o.axis)) return {};
  const std::size_t axis = resolve_axis(o.axis, in.sizes(0).size());
  TensorShape out = in.shape(0);
  if (out.sizes[axis] != 1 || o.size < 1)
    return in.refused("axis {} of {} to {}, expected a dim of size 1", axis, to_text(in.shape(0)), o.size);
  out.sizes[axis] = o.size;
  return {out};
}
std::vector<TensorShape> infer(const Dropout&, Checked& in) { return in.like_input(in.inputs(1)); }
std::vector<TensorShape> infer(const Reduction& o, Checked& in) {
  if (!in.inputs(1) || !in.axis(o.axis)) return {};
  const std::size_t axis = resolve_axis(o.axis, in.sizes(0).size());
  TensorShape out = in.shape(0);
  out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  return {out};
}
std::vector<TensorShape> infer(const CrossEntropy&, Checked& in) {
  if (!in.inputs(2) || !in.rank_at_least(0, 1)) return {};
  Sizes positions = in.sizes(0);
  positions.pop_back();
  if (!in.is(1, positions) || !in.holds(1, Element::index)) return {};
  return {real(std::move(positions))};
}
std::vector<TensorShape> infer(const SquaredError&, Checked& in) { return in.like_input(in.inputs(2) && in.is(1, in.sizes(0))); }
std::vector<TensorShape> infer(const Summands& o, Checked& in) {
  if (o.parts.empty()) return in.refused("has no inputs");
  if (!in.inputs(o.parts.size())) return {};
  for (std::size_t i = 0; i < in.count(); ++i) {
    if (o.parts[i] < 1) return in.refused("{} parts of input {}", o.parts[i], i);
    if (!in.is(i, in.sizes(0)) || !in.holds(i, Element::real)) return {};
  }
  return {in.shape(0)};
}
std::vector<TensorShape> infer(const MoeDispatch& o, Checked& in) {
  if (!in.inputs(2) || !in.rank(0, 3) || !in.rank(1, 3)) return {};
  const Sizes& x = in.sizes(0);
  const std::int64_t experts = in.sizes(1)[2];
  if (!in.is(1, {x[0], x[1], experts}) || !in.experts(o, experts)) return {};
  return {real({experts, x[0], expert_capacity(o.top_k, o.capacity_factor * o.imbalance, x[1], experts), x[2]})};
}
std::vector<TensorShape> infer(const ExpertLinear& o, Checked& in) {
  return in.with_last(o.out, (in.count() == 0 || in.rank(0, 4)) && in.weights(1));
}
std::vector<TensorShape> infer(const MoeCombine& o, Checked& in) {
  if (!in.inputs(2) || !in.rank(0, 4) || !in.rank(1, 3)) return {};
  const Sizes& gates = in.sizes(1);
  const std::int64_t width = in.sizes(0).back();
  if (!in.experts(o, gates[2]) ||
      !in.is(0, {gates[2], gates[0], expert_capacity(o.top_k, o.capacity_factor * o.imbalance, gates[1], gates[2]), width}))
    return {};
  return {real({gates[0], gates[1], width})};
}

}  // namespace

base::Attempt<std::vector<TensorShape>> try_infer_shapes(const Operator& op, std::span<const TensorShape> inputs) {
  Checked in(op, inputs);
  std::vector<TensorShape> outputs = std::visit([&](const auto& o) { return infer(o, in); }, op);
  for (const TensorShape& s : outputs) {
    double elements = 1;
    for (const std::int64_t size : s.sizes) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(kMostElements)) in.refuse("{} is too large", to_text(s));
  }
  if (in.refusal()) return *in.refusal();
  return outputs;
}

std::vector<TensorShape> infer_shapes(const Operator& op, std::span<const TensorShape> inputs) {
  return accepted(try_infer_shapes(op, inputs));
}

}  // namespace pcg
