#include "pcg/operators/attention_dims.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace pcg
