#pragma once
// The contents of every shard of every tensor of a small graph, at one size: the semantics that axioms are held against. It shares nothing
// with the typing of rules (language/typing.hpp) and their whole values (semantics/values.hpp): operators are typed and numbered by
// pcg/sharding, as in real graphs, and each works on the shards at its own points.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pcg/sharding/parallel_shape.hpp"
#include "pcg/sharding/sharding.hpp"
#include "tests/oracles/axioms/small_terms.hpp"
#include "tests/oracles/axioms/symbolic.hpp"

namespace rules {

struct Shard {
  std::vector<std::int64_t> sizes;
  std::vector<Element> elements;  // row-major
};
using Shards = std::vector<Shard>;  // of one tensor, by pcg::shard_number

// Returns: the shape of a node whose inputs have the shapes `in`; nullopt if it is ill typed or has too many shards.
[[nodiscard]] std::optional<pcg::ParallelShape> shape_of(const SmallNode& n, std::span<const pcg::ParallelShape> in,
                                                         std::span<const pcg::ParallelShape> variables);

// Returns: the shards of all nodes, whose shapes are `shapes`. The elements of variables are algebra variables "x.s1[0, 2]": copies share
// them, summands do not.
// Requires: well typed.
[[nodiscard]] std::vector<Shards> shards_of(const SmallTerm& t, std::span<const std::string> names,
                                            std::span<const pcg::ParallelShape> shapes, Symbolic& algebra);

// --- parts of shards_of() ---

[[nodiscard]] Element element(const Shard& s, const std::vector<std::int64_t>& at);
// Returns: the shard of these sizes that has at_coordinates(at) at each of its coordinates, made one after another.
template <class F>
[[nodiscard]] Shard made(std::vector<std::int64_t> sizes, F&& at_coordinates) {
  Shard s{std::move(sizes), {}};
  std::vector<std::int64_t> at(s.sizes.size(), 0);
  for (std::int64_t left = pcg::TensorShape{s.sizes}.elements(); left > 0; --left) {
    s.elements.push_back(at_coordinates(std::as_const(at)));
    for (std::size_t d = at.size(); d-- > 0; at[d] = 0)
      if (++at[d] < s.sizes[d]) break;
  }
  return s;
}

struct Placed {
  pcg::IterationSpace space;
  pcg::Sharding sharding;
  pcg::ParallelShape shape;  // of the output
};
// Returns: the loops, sharding and output of an operator that computes; nullopt: it is ill typed.
[[nodiscard]] std::optional<Placed> place(const SmallNode& n, std::span<const pcg::ParallelShape> in);

// The inputs and the output of one point.
struct Task {
  const SmallNode* node = nullptr;
  std::vector<const Shard*> inputs;
  std::vector<std::vector<int>> blocks;  // of each input's dims: which block the shard is
  std::vector<std::int64_t> sizes;       // of the shard to be made
  bool first_summand = true;             // of those that pass through
  int through = -1;                      // pcg::Sharding::through
  // Where the shard to be made begins in its input: convolutions and pools read all rows and columns, batch norms all samples, too.
  std::int64_t sample = 0, row = 0, column = 0;
};
[[nodiscard]] Shard compute(const Task& t, Symbolic& algebra);

}  // namespace rules
