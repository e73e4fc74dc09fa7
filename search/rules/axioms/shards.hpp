#pragma once
// The contents of every shard of every tensor of a small graph, at one size: the meaning that axioms are held against. It shares nothing
// with the typing of rules (language/typing.hpp) and their whole values (meaning/values.hpp): operators are typed and numbered by
// pcg/sharding, as in real graphs, and each works on the shards at its own points.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pcg/sharding/parallel_shape.hpp"
#include "search/rules/axioms/algebra.hpp"
#include "search/rules/axioms/small_terms.hpp"

namespace rules {

struct Shard {
  std::vector<std::int64_t> sizes;
  std::vector<Element> elements;  // row-major
};
using Shards = std::vector<Shard>;  // of one tensor, by pcg::shard_number

// Returns the shards of all nodes, whose shapes are `shapes` (shards_typing.hpp). The elements of variables are algebra variables
// "x.s1[0, 2]": copies share them, summands do not.
// Requires: well typed.
[[nodiscard]] std::vector<Shards> shards_of(const SmallTerm& t, std::span<const std::string> names,
                                            std::span<const pcg::ParallelShape> shapes, Algebra& algebra);

}  // namespace rules
