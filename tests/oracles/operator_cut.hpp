#pragma once
// The sharded forms of any operator of a graph, also of those that the rule language has no kind for: losses, experts, views, convolutions
// in groups. They follow from the loops of the operator at hand (pcg/sharding/iteration_space.hpp): an equation for each loop that may be
// cut, one for copies of the work, and one for each input whose partial sums may pass (or all inputs at once), used in both directions,
//
//   f(x, w, ...)                =  join[d](f(cut[d](x), cut[d](w), ...))
//   replicate[d](f(x, w, ...))  =  f(replicate[d](x), replicate[d](w), ...)
//   f(reduce[d](x), w, ...)     =  reduce[d](f(x, replicate[d](w), ...))
//
// where cut is a Partition along the dim that the loop indexes, or a Replicate of an input that the loop does not index, and join is a
// Combine along the dim that the loop indexes, a Reduce of an output that the loop is summed away from, or a Discard of the copies of an
// output that a collective inside the operator makes whole (the loss of parts of the classes). The operator may be cut already.
// Together with partition(combine(x)) = x they move a Combine past any operator. The loops are no axioms: the equations are held against
// the evaluator of graphs, shard by shard, for every operator and each of its forms (tests/rewriting/operator_cut_test.cpp).

#include <vector>

#include "base/attempt.hpp"
#include "pcg/graph/pcg.hpp"
#include "search/rules/rewriting/apply.hpp"

namespace rules {

inline constexpr int kCopies = -1, kSums = -2;  // in the place of a loop: the equation of copies, and of partial sums

// An occurrence of one side of such an equation.
struct OperatorCut {
  pcg::NodeId node;    // f
  int loop = 0;        // of its iteration space, or kCopies, or kSums
  int through = -1;    // kSums: the input whose partial sums pass beside copies of the others; -1: those of all
  bool joins = false;  // the right side stands in the graph, and the left one takes its place
  int degree = 0;      // d of the side that stands in the graph; 0: it has none, the caller chooses
  auto operator<=>(const OperatorCut&) const = default;
};

// Returns all occurrences in a graph, ordered by node, loop (copies, then sums behind), direction. Where the caller chooses, some degree is
// lawful: the least divisor of the loop's block and of the blocks of the dims that it indexes. Nobody but the occurrence reads what it
// leaves out. Cost: O(loops and tensors of all operators).
[[nodiscard]] std::vector<OperatorCut> operator_cuts(const pcg::Pcg& graph);

// Returns the rewritten graph, or why there is none: the degree does not divide, or the result is refused as that of a rule is. `degree`
// is d where the occurrence leaves it free.
// Keeps: names, attributes and all that apply() of a rule keeps. Requires: the occurrence is one of this graph.
[[nodiscard]] base::Attempt<Rewritten> apply(const OperatorCut& cut, const pcg::Pcg& graph, int degree);

}  // namespace rules
