#include "search/rules/axioms/shards.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/check.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;
using pcg::ShardIndex;
using Sizes = std::vector<std::int64_t>;

std::size_t offset(const Sizes& at, const Sizes& sizes) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < at.size(); ++d) i = i * sizes[d] + at[d];
  return static_cast<std::size_t>(i);
}

// Makes a shard from the value at each of its coordinates.
template <class F>
Shard made(const Sizes& sizes, F&& at_coordinates) {
  Shard p{sizes, {}};
  std::int64_t total = 1;
  for (std::int64_t s : sizes) total *= s;
  Sizes at(sizes.size(), 0);
  for (std::int64_t i = 0; i < total; ++i) {
    p.elements.push_back(at_coordinates(at));
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
  return p;
}

Shards variable(const std::string& name, const ParallelShape& shape, Algebra& a) {
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

Shards constant(const SmallNode& n, const ParallelShape& shape, Algebra& a) {
  return {made(shape.shard().sizes, [&](const Sizes& at) {
    switch (n.kind) {
      case Kind::identity: return a.constant(at[at.size() - 2] == at.back(), 1);
      case Kind::ones: return a.constant(1, 1);
      case Kind::identity_kernel: return a.constant(at[0] == at[1] && at[2] == 1 && at[3] == 1, 1);
      default: return a.constant(at[0] == at[1], 9);  // a pooling kernel
    }
  })};
}

// Where a shard of a moved tensor comes from: the source shard and the first coordinate read in it, or several shards.
Shards moved(const SmallNode& n, const ParallelShape& from, const Shards& x, const ParallelShape& to, Algebra& a) {
  const std::size_t axis = static_cast<std::size_t>(n.axis);
  Shards shards;
  for (int p = 0; p < to.shards(); ++p) {
    ShardIndex i = pcg::shard_index(to, p);
    const Sizes sizes = to.shard().sizes;
    switch (n.kind) {
      case Kind::partition: {
        const std::int64_t first = i.block[axis] % n.degree * sizes[axis];
        i.block[axis] /= n.degree;
        const Shard& source = x[static_cast<std::size_t>(pcg::shard_number(from, i))];
        shards.push_back(made(sizes, [&](Sizes at) {
          at[axis] += first;
          return source.elements[offset(at, source.sizes)];
        }));
        break;
      }
      case Kind::combine: {
        const std::int64_t each = sizes[axis] / n.degree;
        const int block = i.block[axis];
        shards.push_back(made(sizes, [&](Sizes at) {
          i.block[axis] = block * n.degree + static_cast<int>(at[axis] / each);
          at[axis] %= each;
          const Shard& source = x[static_cast<std::size_t>(pcg::shard_number(from, i))];
          return source.elements[offset(at, source.sizes)];
        }));
        break;
      }
      case Kind::replicate:
        i.copy /= n.degree;
        shards.push_back(x[static_cast<std::size_t>(pcg::shard_number(from, i))]);
        break;
      default: {  // reduce
        const int sum = i.sum;
        shards.push_back(made(sizes, [&](const Sizes& at) {
          i.sum = sum * n.degree;
          Element total = x[static_cast<std::size_t>(pcg::shard_number(from, i))].elements[offset(at, sizes)];
          for (int s = 1; s < n.degree; ++s) {
            i.sum = sum * n.degree + s;
            total = a.add(total, x[static_cast<std::size_t>(pcg::shard_number(from, i))].elements[offset(at, sizes)]);
          }
          return total;
        }));
      }
    }
  }
  return shards;
}

// The shards of all blocks of some dims in one: what a collective inside an operator gives each point.
Shard gathered(const Shards& x, const ParallelShape& shape, int shard, std::initializer_list<std::size_t> dims) {
  ShardIndex index = pcg::shard_index(shape, shard);
  const Sizes each = shape.shard().sizes;
  Sizes sizes = each;
  for (const std::size_t d : dims) sizes[d] = shape.dims[d].size;
  return made(sizes, [&](Sizes at) {
    for (const std::size_t d : dims) {
      index.block[d] = static_cast<int>(at[d] / each[d]);
      at[d] %= each[d];
    }
    const Shard& source = x[static_cast<std::size_t>(pcg::shard_number(shape, index))];
    return source.elements[offset(at, source.sizes)];
  });
}

Shards computed(const SmallNode& n, std::span<const ParallelShape> shapes, std::span<const Shards* const> in, const ParallelShape& out,
                Algebra& a) {
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
    const int shard = pcg::input_shard(placed->space, placed->sharding, 0, point);
    if (n.kind == Kind::attention) {
      fetched = gathered(*in[0], shapes[0], shard, {1});
      t.inputs[0] = &fetched;
    } else if (is_convolution(n.kind) || is_pool(n.kind)) {
      fetched = gathered(*in[0], shapes[0], shard, {2, 3});
      t.inputs[0] = &fetched;
      t.row = t.blocks[0][2] * t.sizes[2];
      t.column = t.blocks[0][3] * t.sizes[3];
    } else if (n.kind == Kind::batch_norm) {
      fetched = gathered(*in[0], shapes[0], shard, {0, 2, 3});
      t.inputs[0] = &fetched;
      t.sample = t.blocks[0][0] * t.sizes[0];
      t.row = t.blocks[0][2] * t.sizes[2];
      t.column = t.blocks[0][3] * t.sizes[3];
    }
    shards[static_cast<std::size_t>(pcg::output_shard(placed->space, placed->sharding, 0, point))] = compute(t, a);
  }
  return shards;
}

}  // namespace

std::vector<Shards> shards_of(const SmallTerm& t, std::span<const std::string> names, std::span<const ParallelShape> shapes,
                              Algebra& algebra) {
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
    } else if (movement(n)) {
      shards.push_back(moved(n, in_shapes[0], *in[0], shapes[i], algebra));
    } else {
      shards.push_back(computed(n, in_shapes, in, shapes[i], algebra));
    }
  }
  return shards;
}

}  // namespace rules
