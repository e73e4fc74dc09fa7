#pragma once
// The same graph at other sizes. Free sizes (inputs' dims and the sizes that operators carry: out, heads, vocabulary, ...) are replaced
// value by value: equal sizes stay equal, so residuals and ties survive; weights follow from weight_shapes(). Degrees of a PCG are kept.
// Start here: padded(); draw_sizes() (draw_sizes.hpp) finds random small sizes, by segments of dims (segments.hpp), laws and repairs
// (size_repair.hpp); rebuild.hpp makes each operator anew.

#include <cstdint>
#include <map>
#include <span>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

using SizeMap = std::map<std::int64_t, std::int64_t>;  // old free size -> new one; sizes that are not in it stay
[[nodiscard]] inline std::int64_t new_size(const SizeMap& map, std::int64_t size) {
  const auto it = map.find(size);
  return it == map.end() ? size : it->second;
}

// Returns the PCG with the operators of `graph` in the place of its own, or why its degrees do not fit them. Requires: `graph` is
// serial(pcg) with other sizes.
[[nodiscard]] base::Attempt<Pcg> with_operators(const Pcg& pcg, const Graph& graph);
// Returns the graph with the vocabularies of size `from`, and the outputs of that size of linear operators that only a loss takes, rounded
// up to `to`; and with a capacity factor that gives `to` places where a sample has `from` of them at each expert.
// Throws: ShapeError when an operator refuses its new inputs.
[[nodiscard]] Graph padded(const Graph& graph, std::span<const Padding> padding);

}  // namespace pcg
