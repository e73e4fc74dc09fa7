#include "pcg/parallel.hpp"

namespace pcg {
namespace {

using Kind = InternalCollective::Kind;

// The piece of input i that a point holds.
TensorShape piece_of_input(const IterationSpace& space, const Sharding& sharding, std::size_t i, std::span<const TensorShape> inputs) {
  return input_shape(space, sharding, i, inputs[i]).piece();
}

std::vector<InternalCollective> cross_entropy(const IterationSpace& space, int loop, const Sharding& sharding,
                                              std::span<const TensorShape> inputs) {
  TensorShape positions = piece_of_input(space, sharding, 1, inputs);
  positions.element = Element::real;
  return std::vector<InternalCollective>(3, {.kind = Kind::all_reduce, .loop = loop, .shape = positions, .fp32 = true});
}

// Each point holds the queries of its part of the sequence and needs all keys and values.
std::vector<InternalCollective> attention(const Attention& o, const IterationSpace& space, int loop, const Sharding& sharding,
                                          std::span<const TensorShape> inputs) {
  TensorShape both = piece_of_input(space, sharding, o.packed ? 0 : 1, inputs);
  const std::size_t rank = both.sizes.size();
  both.sizes[rank - 2] = inputs[o.packed ? 0 : 1].sizes[rank - 2];
  both.sizes[rank - 1] = o.packed ? both.sizes[rank - 1] * 2 * o.kv_heads / (o.heads + 2 * o.kv_heads) : 2 * both.sizes[rank - 1];
  return {{.kind = Kind::all_gather, .loop = loop, .shape = both},
          {.kind = Kind::all_gather, .loop = loop, .shape = both, .backward = true},
          {.kind = Kind::reduce_scatter, .loop = loop, .shape = both, .backward = true}};
}

// Sum and sum of squares of each channel forward; sum of the gradient and of its product with the input backward.
std::vector<InternalCollective> batch_norm(const IterationSpace& space, int loop, const Sharding& sharding,
                                           std::span<const TensorShape> inputs) {
  const TensorShape statistics{.sizes = {2 * piece_of_input(space, sharding, 1, inputs).elements()}};
  InternalCollective c{.kind = Kind::all_reduce, .loop = loop, .shape = statistics, .fp32 = true};
  InternalCollective back = c;
  back.backward = true;
  return {c, back};
}

}  // namespace

std::vector<InternalCollective> internal_collectives(const Operator& op, const Sharding& sharding, std::span<const TensorShape> inputs) {
  const IterationSpace space = iteration_space(op, inputs);
  for (std::size_t l = 0; l < space.loops.size(); ++l) {  // no operator has more than one loop of this kind
    if (space.loops[l].cut != Cut::internal || sharding.degrees[l] == 1) continue;
    const int loop = static_cast<int>(l);
    if (std::holds_alternative<CrossEntropy>(op)) return cross_entropy(space, loop, sharding, inputs);
    if (std::holds_alternative<BatchNorm>(op)) return batch_norm(space, loop, sharding, inputs);
    if (const Attention* a = std::get_if<Attention>(&op)) return attention(*a, space, loop, sharding, inputs);
  }
  return {};
}

}  // namespace pcg
