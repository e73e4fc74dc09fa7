#pragma once
// Rebuilding a graph with other sizes, one node at a time.

#include <functional>
#include <span>

#include "pcg/graph/graph.hpp"

namespace pcg {

// How each operator is made anew. `before` and `after` are the old and the new shapes of its inputs; in `after`, a weight whose shape
// follows from the operator is an empty shape. `check`, if given, sees the new operator and stops the rebuilding before its node is added
// by returning false.
struct Rebuild {
  std::function<Operator(GraphNodeId, std::span<const TensorShape> before, std::span<const TensorShape> after)> change;
  std::function<TensorShape(GraphNodeId)> weight;  // the new shape of a weight that follows from no operator
  bool weights_are_known = false;                  // none follows from an operator
  std::function<bool(GraphNodeId, const Operator& changed, std::span<const TensorShape> before, std::span<const TensorShape> after)>
      check{};
};
// Returns the graph with its operators made anew, or why there is none: an operator refuses its new inputs, or the check stopped it.
[[nodiscard]] base::Attempt<Graph> rebuild(const Graph& graph, const Rebuild& how);

}  // namespace pcg
