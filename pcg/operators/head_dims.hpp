#pragma once
// The heads of an attention or a state space layer, from its inputs: an operator stores no size that inputs determine.

#include <cstdint>
#include <optional>
#include <span>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Numbers of one head.
struct HeadDims {
  std::int64_t query = 0;   // of a query, and of a key
  std::int64_t value = 0;   // of a value, and of what a head gives
  std::int64_t shared = 0;  // those of a key that all heads share; 0 unless latent
};

// Returns: how many heads, of queries, keys and values alike, the last dim of input 0 holds.
[[nodiscard]] std::int64_t query_parts(const Attention& op);
// `inputs`: of the whole operator, or of a shard with the operator of that shard.
// Requires: the operator accepts the inputs.
[[nodiscard]] HeadDims head_dims(const Attention& op, std::span<const TensorShape> inputs);
// Returns: how many of `keys` keys a query may reach: all of them, or as many as its window has.
[[nodiscard]] std::int64_t keys_in_reach(const Attention& op, std::int64_t keys);
// Returns: the share of keys_in_reach() that the mean query of a sequence meets. Causal, without a window: a half (half of the diagonal is
// counted, as FLOPs of attention are published: Dao, arXiv 2307.08691, section 4.1). With a window of w keys of s: the first w queries meet
// w / 2 in the mean, the others w, so 1 - w / (2 s). In chunks of w: a half, and less in a last chunk that is shorter.
[[nodiscard]] double share_met(const Attention& op, std::int64_t keys);
// Returns: how many inputs are activations; weights follow.
[[nodiscard]] std::size_t attention_activations(const Attention& op);
// Returns: how many weights it has.
[[nodiscard]] std::size_t attention_weights(const Attention& op);

struct StateSpaceDims {
  std::int64_t head = 0;      // numbers of a head: p
  std::int64_t inner = 0;     // of all heads
  std::int64_t channels = 0;  // that are convolved: x, B and C
};

// `width`: of the input's last dim. Returns nullopt where no head width fits.
[[nodiscard]] std::optional<StateSpaceDims> try_state_space_dims(const StateSpace& op, std::int64_t width);
// Requires: the operator accepts the input.
[[nodiscard]] StateSpaceDims state_space_dims(const StateSpace& op, std::int64_t width);
// The width of an input whose heads have `head` numbers. Requires: groups divide heads.
[[nodiscard]] std::int64_t state_space_width(const StateSpace& op, std::int64_t head);

}  // namespace pcg
