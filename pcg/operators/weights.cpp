#include "pcg/operators/operator_shapes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/mp11/algorithm.hpp>
#include <optional>
#include <string_view>

#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;

// One activation comes before their weights.
using OneActivation = boost::mp11::mp_list<Linear, Conv2d, LayerNorm, BatchNorm, StateSpace, Embedding, EmbeddingBag, ExpertLinear>;

using Weights = base::Attempt<std::vector<TensorShape>>;

// Why the first activation does not have at least `rank` dims, or nullopt.
std::optional<base::Refusal> lacks(std::string_view name, Shapes activations, std::size_t rank) {
  if (activations.empty()) return base::Refusal{fmt::format("{}: has no inputs", name)};
  if (activations[0].sizes.size() >= rank) return std::nullopt;
  return base::Refusal{fmt::format("{}: input 0 is {}, expected at least {} dims", name, to_text(activations[0]), rank)};
}

std::vector<TensorShape> with_bias(TensorShape weight, bool has_bias, TensorShape bias) {
  return has_bias ? std::vector{std::move(weight), std::move(bias)} : std::vector{std::move(weight)};
}

template <class Other>
Weights weights_of(const Other&, Shapes) {
  return std::vector<TensorShape>{};
}

Weights weights_of(const Linear& o, Shapes a) {
  if (auto why = lacks("linear", a, 1)) return *why;
  const std::int64_t k = a[0].sizes.back();
  return with_bias(o.transposed_weight ? real({o.out, k}) : real({k, o.out}), o.has_bias, real({o.out}));
}
Weights weights_of(const Conv2d& o, Shapes a) {
  if (auto why = lacks("conv2d", a, 4)) return *why;
  const std::int64_t channels = a[0].sizes[1];
  if (o.groups < 1 || channels % o.groups != 0)
    return base::Refusal{fmt::format("conv2d: {} channels do not divide into {} groups", channels, o.groups)};
  return with_bias(real({o.out, channels / o.groups, o.rows.kernel, o.columns.kernel}), o.has_bias, real({o.out}));
}
Weights weights_of(const LayerNorm& o, Shapes a) {
  if (auto why = lacks("layer_norm", a, 1)) return *why;
  return std::vector<TensorShape>(o.rms ? 1 : 2, real({a[0].sizes.back()}));
}
Weights weights_of(const BatchNorm&, Shapes a) {
  if (auto why = lacks("batch_norm", a, 4)) return *why;
  return std::vector<TensorShape>(2, real({a[0].sizes[1]}));
}
Weights weights_of(const Attention& o, Shapes a) {
  // T5 uses 32 buckets of relative positions (Raffel et al., arXiv 1910.10683, section 2.1); another count may be given.
  constexpr std::int64_t kRelativePositionBuckets = 32;
  std::vector<TensorShape> result;
  if (o.qk_norm) {
    if (auto why = lacks("attention", a, 1)) return *why;
    result.assign(2, real({a[0].sizes.back() / query_parts(o)}));
  }
  if (o.sinks) result.push_back(real({o.heads}));
  if (o.has_bias) result.push_back(real({kRelativePositionBuckets, o.heads}));
  return result;
}
Weights weights_of(const StateSpace& o, Shapes a) {
  if (auto why = lacks("state_space", a, 2)) return *why;
  const std::int64_t width = a[0].sizes.back();
  const auto dims = try_state_space_dims(o, width);
  if (!dims)
    return base::Refusal{
        fmt::format("state_space: {} numbers do not divide into {} heads in {} groups with states of {}: expected groups x "
                    "(heads / groups x (2 x width of a head + 1) + 2 x state)",
                    width, o.heads, o.groups, o.state)};
  const TensorShape of_heads = real({o.heads});
  return std::vector{real({dims->channels, o.kernel}), real({dims->channels}), of_heads, of_heads, of_heads, real({dims->inner})};
}
Weights weights_of(const Embedding& o, Shapes) { return std::vector{real({o.vocabulary, o.width})}; }
Weights weights_of(const EmbeddingBag& o, Shapes) { return std::vector{real({o.vocabulary, o.width})}; }
Weights weights_of(const ExpertLinear& o, Shapes a) {
  if (auto why = lacks("expert_linear", a, 4)) return *why;
  const std::vector<std::int64_t>& x = a[0].sizes;
  return with_bias(real({x.front(), x.back(), o.out}), o.has_bias, real({x.front(), o.out}));
}

}  // namespace

std::vector<bool> weight_slots(const Operator& op, std::size_t input_count) {
  const auto* attention = std::get_if<Attention>(&op);
  const bool has_slots = attention || std::visit([]<class O>(const O&) { return boost::mp11::mp_contains<OneActivation, O>::value; }, op);
  std::vector<bool> slots(input_count, has_slots);
  const std::size_t activations = attention ? attention_activations(*attention) : 1;
  std::fill_n(slots.begin(), std::min(activations, input_count), false);
  return slots;
}

base::Attempt<std::vector<TensorShape>> try_weight_shapes(const Operator& op, std::span<const TensorShape> activations) {
  return std::visit([&](const auto& o) { return weights_of(o, activations); }, op);
}

std::vector<TensorShape> weight_shapes(const Operator& op, std::span<const TensorShape> activations) {
  return accepted(try_weight_shapes(op, activations));
}

}  // namespace pcg
