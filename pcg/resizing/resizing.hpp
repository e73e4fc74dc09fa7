#pragma once
// Rebuilding a graph with other sizes, one node at a time. Used by shrinking only.

#include <functional>

#include "pcg/resizing/shrink.hpp"

namespace pcg {

// A size that must change for the graph to fit together.
struct SizeRepair {
  std::int64_t size = 0;    // a free size of the old graph
  std::int64_t wanted = 0;  // its new value; 0: any multiple of multiple_of
  std::int64_t multiple_of = 1;
};

// What of `map` has to change for an operator to accept its inputs; nullopt where nothing must, or nobody can say. Activations
// only: `before` and `after` are the shapes of the inputs in the old and the new graph.
[[nodiscard]] std::optional<SizeRepair> repair_sizes(const Operator& op, std::span<const TensorShape> before,
                                                     std::span<const TensorShape> after, const SizeMap& map);

// Makes each operator anew (change) from its old form and the old and new shapes of its inputs that are known (weights that follow are
// not: they are empty shapes), then shapes. check, if given, may stop the rebuilding by returning false before a node is added.
struct Rebuild {
  std::function<Operator(const Operator&, std::span<const TensorShape> before, std::span<const TensorShape> after)> change;
  std::function<std::int64_t(std::int64_t)> size;  // dims of weights that follow from no operator
  std::function<bool(const Operator&, std::span<const TensorShape> before, std::span<const TensorShape> after)> check;
};
// nullopt if check stopped it. Throws: ShapeError when sizes do not fit.
[[nodiscard]] std::optional<Graph> rebuild(const Graph& graph, const Rebuild& how);

// The operator with its free sizes mapped.
[[nodiscard]] Operator with_sizes(const Operator& op, const SizeMap& map, std::span<const TensorShape> before,
                                  std::span<const TensorShape> after);
// Free sizes that the operator carries.
[[nodiscard]] std::vector<std::int64_t> free_sizes(const Operator& op, std::span<const TensorShape> inputs);

}  // namespace pcg
