#include "pcg/operators/head_dims.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace pcg {

std::int64_t query_parts(const Attention& op) { return op.packed ? op.heads + 2 * op.kv_heads : op.heads; }

HeadDims head_dims(const Attention& op, std::span<const TensorShape> inputs) {
  HeadDims d;
  d.query = d.value = inputs[0].sizes.back() / query_parts(op);
  if (op.packed) return d;
  if (op.latent) {
    d.shared = inputs[2].sizes.back();
    d.value = inputs[1].sizes.back() / op.kv_heads - (d.query - d.shared);
  } else {
    d.value = inputs[2].sizes.back() / op.kv_heads;
  }
  return d;
}

std::int64_t keys_in_reach(const Attention& op, std::int64_t keys) { return op.window > 0 ? std::min(op.window, keys) : keys; }

double share_met(const Attention& op, std::int64_t keys) {
  if (!op.causal) return 1;
  const auto reach = static_cast<double>(keys_in_reach(op, keys)), all = static_cast<double>(keys);
  if (!op.chunked) return 1 - reach / (2 * all);
  const double chunks = std::floor(all / reach), rest = all - chunks * reach;
  return (chunks * reach * reach + rest * rest) / (2 * all * reach);
}

std::size_t attention_activations(const Attention& op) { return op.packed ? 1 : 3; }

std::size_t attention_weights(const Attention& op) { return (op.qk_norm ? 2U : 0U) + (op.sinks ? 1U : 0U) + (op.has_bias ? 1U : 0U); }

std::optional<StateSpaceDims> try_state_space_dims(const StateSpace& op, std::int64_t width) {
  if (op.heads < 1 || op.groups < 1 || op.heads % op.groups != 0 || width % op.groups != 0) return std::nullopt;
  const std::int64_t heads = op.heads / op.groups, of_heads = width / op.groups - 2 * op.state;
  if (of_heads <= 0 || of_heads % heads != 0) return std::nullopt;
  const std::int64_t twice = of_heads / heads - 1;  // the gates and x of a head, without its step
  if (twice < 2 || twice % 2 != 0) return std::nullopt;
  const std::int64_t inner = op.heads * twice / 2;
  return StateSpaceDims{.head = twice / 2, .inner = inner, .channels = inner + 2 * op.groups * op.state};
}

StateSpaceDims state_space_dims(const StateSpace& op, std::int64_t width) {
  const auto dims = try_state_space_dims(op, width);
  BASE_CHECK(dims, "a width of {} for {} heads in {} groups with states of {}", width, op.heads, op.groups, op.state);
  return *dims;
}

std::int64_t state_space_width(const StateSpace& op, std::int64_t head) {
  return op.groups * (op.heads / op.groups * (2 * head + 1) + 2 * op.state);
}

}  // namespace pcg
