#include "pcg/evaluator/evaluator_moe.hpp"

#include <numeric>

#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using field::Hash;
using Sizes = std::vector<std::int64_t>;

enum ExpertTag : std::uint64_t { kDispatch = 301, kCombine };

// How much of a token goes to (comes back from) a place of an expert depends on all gates of the piece of the sequence that both
// belong to: its tokens compete for its places. Tokens and places are counted from the piece's first, so that a shard need not know which
// pieces it has.
Hash gates_of_piece(ExpertTag tag, const Operand& gates, std::int64_t first_token, std::int64_t tokens) {
  const std::int64_t experts = gates.sizes()[2];
  Hash h(tag);
  for (std::int64_t i = first_token * experts; i < (first_token + tokens) * experts; ++i)
    h(gates.values->values[static_cast<std::size_t>(i)]);
  return h;
}
std::uint32_t share(const Hash& gates, std::int64_t s, std::int64_t e, std::int64_t c) {
  return Hash(gates)(static_cast<std::uint64_t>(s))(static_cast<std::uint64_t>(e))(static_cast<std::uint64_t>(c)).element();
}
// Visits every (token, place of expert) of a piece with its share: routed(index of the token's row, index of the expert's row, share).
template <class Visit>
void route(ExpertTag tag, const Operand& gates, std::int64_t capacity, Visit&& routed) {
  const Sizes& g = gates.sizes();  // b, s, experts
  const std::int64_t pieces = std::gcd(g[1], capacity), tokens = g[1] / pieces, places = capacity / pieces;
  for (std::int64_t p = 0; p < g[0] * pieces; ++p) {
    const Hash h = gates_of_piece(tag, gates, p * tokens, tokens);
    const std::int64_t b = p / pieces, first_place = p % pieces * places;
    for (std::int64_t s = 0; s < tokens; ++s)
      for (std::int64_t e = 0; e < g[2]; ++e)
        for (std::int64_t c = 0; c < places; ++c) routed(p * tokens + s, (e * g[0] + b) * capacity + first_place + c, share(h, s, e, c));
  }
}
void add_row(const FieldTensor& from, std::int64_t row, FieldTensor& to, std::int64_t at, std::uint32_t factor) {
  const std::int64_t h = from.shape.sizes.back();
  for (std::int64_t i = 0; i < h; ++i) {
    std::uint32_t& sum = to.values[static_cast<std::size_t>(at * h + i)];
    sum = field::add(sum, field::multiply(from.values[static_cast<std::size_t>(row * h + i)], factor));
  }
}

}  // namespace

FieldTensor run_moe_dispatch(const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kDispatch, t.inputs[1], y.shape.sizes[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, token, y, place, share); });
  return y;
}
FieldTensor run_moe_combine(const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kCombine, t.inputs[1], t.inputs[0].sizes()[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, place, y, token, share); });
  return y;
}

}  // namespace pcg
