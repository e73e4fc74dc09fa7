#pragma once
// Typing of small graphs by pcg's own iteration spaces.

#include <optional>
#include <span>
#include <vector>

#include "pcg/sharding/parallel_operator.hpp"
#include "pcg/sharding/sharding.hpp"
#include "search/rules/axioms/small_terms.hpp"

namespace rules {

// Returns the shapes of all nodes; nullopt if one is ill typed or has too many shards.
[[nodiscard]] std::optional<std::vector<pcg::ParallelShape>> shapes_of(const SmallTerm& t, std::span<const pcg::ParallelShape> variables);

struct Placed {
  pcg::IterationSpace space;
  pcg::Sharding sharding;
  pcg::ParallelShape shape;  // of the output
};
// Returns the loops, sharding and output of an operator that computes; nullopt: it is ill typed.
[[nodiscard]] std::optional<Placed> place(const SmallNode& n, std::span<const pcg::ParallelShape> in);
// Partition, Combine, Replicate, Reduce.
[[nodiscard]] std::optional<pcg::ParallelOperator> movement(const SmallNode& n);

}  // namespace rules
