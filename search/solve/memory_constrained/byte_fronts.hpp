#pragma once
// The cheapest choices within a limit by elimination in which every table holds, in place of one least cost, a front of costs and bytes:
// label-setting for a constrained shortest path (Irnich and Desaulniers, 2005), over a join tree in place of a path. A label is dropped
// where another one is cheaper and leaner, or where with the least that all else costs and takes it misses what is known.

#include <optional>

#include "search/solve/memory_constrained/bucket_tree.hpp"
#include "search/solve/memory_constrained/constrained_problem.hpp"

namespace search {

struct FrontLimits {
  double most_pairs = 1e8;   // of labels that are put together
  double most_labels = 2e7;  // that are kept
};

struct FrontAnswer {
  bool is_complete = false;                               // else there were too many labels
  std::optional<std::vector<std::uint32_t>> choice = {};  // complete and none: nothing that fits costs less
};

// Of those that fit and cost less than `to_beat`. `tree`: of the problem with bytes at this price, which says what all else costs at
// least. The closer price and `to_beat` are to the best, the fewer labels there are.
[[nodiscard]] FrontAnswer cheapest_by_fronts(const ConstrainedProblem& problem, const BucketTree& tree, double price, double to_beat,
                                             const FrontLimits& limits = {});

}  // namespace search
