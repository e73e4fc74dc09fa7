#pragma once
// The typing and placing of small graphs' nodes, and the work of one point of an operator. Private to shards*.cpp.

#include <optional>
#include <span>
#include <vector>

#include "pcg/sharding/parallel_operator.hpp"
#include "pcg/sharding/sharding.hpp"
#include "substitutions/axioms/shards.hpp"

namespace substitutions {

struct Placed {
  pcg::IterationSpace space;
  pcg::Sharding sharding;
  pcg::ParallelShape shape;  // of the output
};
// Returns the loops, sharding and output of an operator that computes; nullopt: it is ill typed.
[[nodiscard]] std::optional<Placed> place(const SmallNode& n, std::span<const pcg::ParallelShape> in);
// Partition, Combine, Replicate, Reduce.
[[nodiscard]] std::optional<pcg::ParallelOperator> movement(const SmallNode& n);
[[nodiscard]] std::optional<pcg::ParallelShape> moved_shape(const SmallNode& n, std::span<const pcg::ParallelShape> in);

// The inputs and the output of one point.
struct Task {
  const SmallNode* node = nullptr;
  std::vector<const Shard*> inputs;
  std::vector<std::vector<int>> blocks;  // of each input's dims: which block the shard is
  std::vector<std::int64_t> sizes;       // of the shard to be made
  bool first_summand = true;             // of those that pass through
  int through = -1;                      // pcg::Sharding::through
  // Of convolutions and pools, whose input has all rows and columns, and of batch norms, whose input has all samples, too: where the shard
  // to be made begins in them.
  std::int64_t sample = 0, row = 0, column = 0;
};
[[nodiscard]] Shard compute(const Task& t, Algebra& algebra);

}  // namespace substitutions
