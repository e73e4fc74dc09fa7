#include "tests/oracles/axioms/shards.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/check.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;
using pcg::ShardIndex;
using Sizes = std::vector<std::int64_t>;

const Shard& shard_at(const Shards& x, const ParallelShape& shape, const ShardIndex& i) {
  return x[static_cast<std::size_t>(pcg::shard_number(shape, i))];
}

Shards variable(const std::string& name, const ParallelShape& shape, Symbolic& a) {
  Shards shards;
  for (int n = 0; n < shape.shards(); ++n) {
    const ShardIndex index = pcg::shard_index(shape, n);
    shards.push_back(made(shape.shard().sizes, [&](Sizes at) {
      for (std::size_t d = 0; d < at.size(); ++d) at[d] += index.block[d] * (shape.dims[d].size / shape.dims[d].degree);
      return a.variable(shape.sum > 1 ? fmt::format("{}.s{}{}", name, index.sum, at) : fmt::format("{}{}", name, at));
    }));
  }
  return shards;
}

Shards constant(const SmallNode& n, const ParallelShape& shape, Symbolic& a) {
  return {made(shape.shard().sizes, [&](const Sizes& at) {
    switch (n.kind) {
      case Kind::identity: return a.constant(at[at.size() - 2] == at.back(), 1);
      case Kind::ones: return a.constant(1, 1);
      case Kind::identity_kernel: return a.constant(at[0] == at[1] && at[2] == 1 && at[3] == 1, 1);
      default: return a.constant(at[0] == at[1], 9);  // a pooling kernel
    }
  })};
}

Shard moved(const SmallNode& n, const ParallelShape& from, const Shards& x, ShardIndex i, const Sizes& sizes, Symbolic& a) {
  const std::size_t axis = static_cast<std::size_t>(n.axis);
  switch (n.kind) {
    case Kind::partition:
    case Kind::combine: {
      const std::int64_t first = i.block[axis] * sizes[axis], each = from.shard().sizes[axis];
      return made(sizes, [&](Sizes at) {
        i.block[axis] = static_cast<int>((first + at[axis]) / each);
        at[axis] = (first + at[axis]) % each;
        return element(shard_at(x, from, i), at);
      });
    }
    case Kind::replicate: i.copy /= n.degree; return shard_at(x, from, i);
    default: {  // reduce
      const int first = i.sum * n.degree;
      return made(sizes, [&](const Sizes& at) {
        i.sum = first;
        Element total = element(shard_at(x, from, i), at);
        while (++i.sum < first + n.degree) total = a.add(total, element(shard_at(x, from, i), at));
        return total;
      });
    }
  }
}

// The dims of its first input of which an operator reads more than its own block.
std::vector<std::size_t> gathered_dims(Kind k) {
  if (k == Kind::attention) return {1};
  if (k == Kind::batch_norm) return {0, 2, 3};
  if (is_convolution(k) || is_pool(k)) return {2, 3};
  return {};
}

// The shards of all blocks of some dims in one: what a collective inside an operator gives each point.
Shard gathered(const Shards& x, const ParallelShape& shape, ShardIndex index, const std::vector<std::size_t>& dims) {
  const Sizes each = shape.shard().sizes;
  Sizes sizes = each;
  for (const std::size_t d : dims) sizes[d] = shape.dims[d].size;
  return made(sizes, [&](Sizes at) {
    for (const std::size_t d : dims) {
      index.block[d] = static_cast<int>(at[d] / each[d]);
      at[d] %= each[d];
    }
    return element(shard_at(x, shape, index), at);
  });
}

Shards computed(const SmallNode& n, std::span<const ParallelShape> shapes, std::span<const Shards* const> in, const ParallelShape& out,
                Symbolic& a) {
  const std::optional<Placed> placed = place(n, shapes);
  BASE_CHECK(placed.has_value(), "{} is ill typed", name_of(n.kind));
  Shards shards(static_cast<std::size_t>(out.shards()));
  for (int point = 0; point < placed->sharding.points(); ++point) {
    Task t{.node = &n,
           .sizes = out.shard().sizes,
           .first_summand = point < placed->sharding.points() / placed->sharding.sums,  // summands are outermost
           .through = placed->sharding.through};
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int shard = i < placed->space.inputs.size() ? pcg::input_shard(placed->space, placed->sharding, i, point) : 0;
      t.inputs.push_back(&(*in[i])[static_cast<std::size_t>(shard)]);
      t.blocks.push_back(pcg::shard_index(shapes[i], shard).block);
    }
    Shard fetched;
    if (const std::vector<std::size_t> dims = gathered_dims(n.kind); !dims.empty()) {
      const int shard = pcg::input_shard(placed->space, placed->sharding, 0, point);
      fetched = gathered(*in[0], shapes[0], pcg::shard_index(shapes[0], shard), dims);
      t.inputs[0] = &fetched;
      if (n.kind != Kind::attention) {
        t.sample = t.blocks[0][0] * t.sizes[0];
        t.row = t.blocks[0][2] * t.sizes[2];
        t.column = t.blocks[0][3] * t.sizes[3];
      }
    }
    shards[static_cast<std::size_t>(pcg::output_shard(placed->space, placed->sharding, 0, point))] = compute(t, a);
  }
  return shards;
}

}  // namespace

Element element(const Shard& s, const Sizes& at) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < at.size(); ++d) i = i * s.sizes[d] + at[d];
  return s.elements[static_cast<std::size_t>(i)];
}

std::vector<Shards> shards_of(const SmallTerm& t, std::span<const std::string> names, std::span<const ParallelShape> shapes,
                              Symbolic& algebra) {
  std::vector<Shards> shards;
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const SmallNode& n = t.nodes[i];
    std::vector<const Shards*> in;
    std::vector<ParallelShape> in_shapes;
    for (std::uint8_t j : n.inputs) {
      in.push_back(&shards[j]);
      in_shapes.push_back(shapes[j]);
    }
    if (n.kind == Kind::variable) {
      shards.push_back(variable(names[static_cast<std::size_t>(n.variable)], shapes[i], algebra));
    } else if (is_constant(n.kind)) {
      shards.push_back(constant(n, shapes[i], algebra));
    } else if (n.kind == Kind::summands) {
      Shards both = *in[0];
      both.insert(both.end(), in[1]->begin(), in[1]->end());  // summands are outermost
      shards.push_back(std::move(both));
    } else if (is_movement(n.kind)) {
      Shards to;
      for (int p = 0; p < shapes[i].shards(); ++p)
        to.push_back(moved(n, in_shapes[0], *in[0], pcg::shard_index(shapes[i], p), shapes[i].shard().sizes, algebra));
      shards.push_back(std::move(to));
    } else {
      shards.push_back(computed(n, in_shapes, in, shapes[i], algebra));
    }
  }
  return shards;
}

}  // namespace rules
