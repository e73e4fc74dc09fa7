#pragma once
// Rebuilding a graph by a map of its free sizes.

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "pcg/resizing/pieces.hpp"
#include "pcg/resizing/rebuild.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {

// Requires, of both: graph and map outlive what is returned.
// Every size by itself.
[[nodiscard]] Rebuild by(const SizeMap& map, const Graph& graph);

// One of several graphs that are given new sizes together.
struct Together {
  const Graph& graph;
  const Pieces& pieces;
  std::size_t number = 0;  // of the graph, to the pieces
  // The new shapes of weights by name, those of a graph that was rebuilt before; null: they follow from their readers.
  const std::map<std::string, TensorShape>* weights = nullptr;
};
// A dim as the sum of its pieces, each by the map.
[[nodiscard]] Rebuild by(const SizeMap& map, const Together& one);
// Adds the sizes that such a map may hold: pieces of dims, and counts. Cost: O(dims that operators say the size of, and their pieces).
void add_free_sizes(const Together& one, std::set<std::int64_t>& sizes);

}  // namespace pcg
