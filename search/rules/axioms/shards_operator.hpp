#pragma once
// The work of one point of an operator of a small graph.

#include <cstdint>
#include <vector>

#include "search/rules/axioms/shards.hpp"

namespace rules {

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

}  // namespace rules
