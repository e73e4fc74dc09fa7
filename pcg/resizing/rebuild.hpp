#pragma once
// Rebuilding a graph with other sizes, one node at a time, or by a map of its free sizes.

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "pcg/graph/graph.hpp"
#include "pcg/resizing/resize.hpp"
#include "pcg/resizing/segments.hpp"

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

// One of several graphs that are given new sizes together.
struct Together {
  const Graph& graph;
  const Segments& segments;
  std::size_t number = 0;  // of the graph, to the segments
  // The new shapes of weights by name, those of a graph that was rebuilt before; null: they follow from their readers.
  const std::map<std::string, TensorShape>* weights = nullptr;
};
// Returns a Rebuild that replaces counts by the map, and a dim as the sum of its segments. Requires: all of it outlives the Rebuild.
[[nodiscard]] Rebuild by(const SizeMap& map, const Together& one);
// Adds the sizes that such a map may hold: segments of dims, and counts. Cost: O(dims that operators say the size of, and their segments).
void add_free_sizes(const Together& one, std::set<std::int64_t>& sizes);

}  // namespace pcg
