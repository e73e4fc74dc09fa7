#include "pcg/sharding/internal_collectives.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using Kind = InternalCollective::Kind;

// The shard of input i that a point holds.
TensorShape shard_of_input(const IterationSpace& space, const Sharding& sharding, std::size_t i, std::span<const TensorShape> inputs) {
  return input_shape(space, sharding, i, inputs[i]).shard();
}

std::vector<InternalCollective> cross_entropy(const IterationSpace& space, int loop, const Sharding& sharding,
                                              std::span<const TensorShape> inputs) {
  TensorShape positions = shard_of_input(space, sharding, 1, inputs);
  positions.element = Element::real;
  return std::vector<InternalCollective>(3, {.kind = Kind::all_reduce, .loop = loop, .shape = positions, .fp32 = true});
}

// Each point holds the queries of its part of the sequence and needs all keys and values.
std::vector<InternalCollective> attention(const Attention& o, const IterationSpace& space, int loop, const Sharding& sharding,
                                          std::span<const TensorShape> inputs) {
  TensorShape both = shard_of_input(space, sharding, o.packed ? 0 : 1, inputs);
  const std::size_t rank = both.sizes.size();
  const HeadDims d = head_dims(o, inputs);
  const std::int64_t heads_cut = inputs[0].sizes.back() / shard_of_input(space, sharding, 0, inputs).sizes.back();
  both.sizes[rank - 2] = inputs[o.packed ? 0 : 1].sizes[rank - 2];
  both.sizes[rank - 1] = (o.repeated_keys ? o.heads : o.kv_heads) * (d.query + d.value) / heads_cut;
  return {{.kind = Kind::all_gather, .loop = loop, .shape = both},
          {.kind = Kind::all_gather, .loop = loop, .shape = both, .backward = true},
          {.kind = Kind::reduce_scatter, .loop = loop, .shape = both, .backward = true}};
}

// Sum and sum of squares of each channel forward; sum of the gradient and of its product with the input backward.
std::vector<InternalCollective> batch_norm(const IterationSpace& space, int loop, const Sharding& sharding,
                                           std::span<const TensorShape> inputs) {
  const TensorShape statistics{.sizes = {2 * shard_of_input(space, sharding, 1, inputs).elements()}};
  InternalCollective c{.kind = Kind::all_reduce, .loop = loop, .shape = statistics, .fp32 = true};
  InternalCollective back = c;
  back.backward = true;
  return {c, back};
}

// Dims 2 and 3 are loops `h` and `w`.
template <class Windowed>
std::vector<InternalCollective> exchange(const Windowed& o, const IterationSpace& space, const Sharding& sharding,
                                         std::span<const TensorShape> inputs) {
  std::vector<InternalCollective> result;
  TensorShape held = shard_of_input(space, sharding, 0, inputs);  // with the halos that have come
  for (std::size_t dim : {2U, 3U}) {
    const int loop = space.inputs[0][dim];
    if (space.loops[static_cast<std::size_t>(loop)].cut != Cut::internal || sharding.degrees[static_cast<std::size_t>(loop)] == 1) continue;
    const Window& w = dim == 2 ? o.rows : o.columns;
    const int after = std::max(0, w.kernel - w.stride - w.padding);
    const auto add = [&](Kind there, Kind back, int layers) {
      TensorShape halo = held;
      halo.sizes[dim] = layers;
      if (layers == 0) return;
      result.push_back({.kind = there, .loop = loop, .shape = halo});
      result.push_back({.kind = back, .loop = loop, .shape = halo, .backward = true});
    };
    add(Kind::halo_before, Kind::halo_after, w.padding);
    add(Kind::halo_after, Kind::halo_before, after);
    held.sizes[dim] += w.padding + after;
  }
  return result;
}

}  // namespace

bool runs_before(const InternalCollective& c) {
  return c.kind == Kind::all_gather || (!c.backward && (c.kind == Kind::halo_before || c.kind == Kind::halo_after));
}

std::vector<InternalCollective> internal_collectives(const Operator& op, const IterationSpace& space, const Sharding& sharding,
                                                     std::span<const TensorShape> inputs) {
  if (const auto* conv = std::get_if<Conv2d>(&op)) return exchange(*conv, space, sharding, inputs);
  if (const auto* pool = std::get_if<Pool2d>(&op)) return exchange(*pool, space, sharding, inputs);
  std::vector<InternalCollective> result;
  for (std::size_t l = 0; l < space.loops.size(); ++l) {
    if (space.loops[l].cut != Cut::internal || sharding.degrees[l] == 1) continue;
    const int loop = static_cast<int>(l);
    std::vector<InternalCollective> more;
    if (std::holds_alternative<CrossEntropy>(op)) more = cross_entropy(space, loop, sharding, inputs);
    else if (std::holds_alternative<BatchNorm>(op)) more = batch_norm(space, loop, sharding, inputs);
    else if (const Attention* a = std::get_if<Attention>(&op)) more = attention(*a, space, loop, sharding, inputs);
    else BASE_CHECK(false, "no collective is known for loop {} of a {}, which is cut", space.loops[l].name, kind_name(op));
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

std::vector<TensorShape> shards_with_halos(const Operator& op, const IterationSpace& space, const Sharding& sharding,
                                           std::span<const TensorShape> inputs) {
  std::vector<TensorShape> shards;
  for (std::size_t i = 0; i < inputs.size(); ++i) shards.push_back(input_shape(space, sharding, i, inputs[i]).shard());
  if (!std::holds_alternative<Conv2d>(op) && !std::holds_alternative<Pool2d>(op)) return shards;
  std::array<std::int64_t, 4> before{}, after{};
  for (const InternalCollective& c : internal_collectives(op, space, sharding, inputs)) {
    if (c.backward) continue;
    const auto dim = static_cast<std::size_t>(std::ranges::find(space.inputs[0], c.loop) - space.inputs[0].begin());
    (c.kind == InternalCollective::Kind::halo_before ? before : after)[dim] = c.shape.sizes[dim];
  }
  for (const std::size_t dim : {2U, 3U}) {
    const int loop = space.inputs[0][dim];
    const bool inside = loop >= 0 && sharding.degrees[static_cast<std::size_t>(loop)] > 2;
    shards[0].sizes[dim] += inside ? before[dim] + after[dim] : std::max(before[dim], after[dim]);
  }
  return shards;
}

}  // namespace pcg
