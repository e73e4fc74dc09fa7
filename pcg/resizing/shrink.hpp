#pragma once
// The same graph at smaller sizes, so that it can be evaluated exactly. Free sizes (inputs' dims and the sizes that operators
// carry: out, heads, vocabulary, ...) are replaced value by value: equal sizes stay equal, so residuals and ties survive; weights
// follow from weight_shapes(). Degrees of a PCG are kept: new sizes are multiples of them.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

using SizeMap = std::map<std::int64_t, std::int64_t>;  // old free size -> new one; sizes that are not in it stay

// A random small size map under which the graph is well-formed and, if pcg is given, under which its shardings stay lawful. Both hold
// the same batch. Different sizes stay different. nullopt when `attempts` draws found none.
[[nodiscard]] std::optional<SizeMap> draw_sizes(const Graph& graph, const Pcg* pcg, std::uint64_t seed, int attempts = 64);
// Throws: ShapeError when the sizes do not fit.
[[nodiscard]] Graph resize(const Graph& graph, const SizeMap& sizes);
[[nodiscard]] Pcg resize(const Pcg& pcg, const SizeMap& sizes);
// The graph with vocabularies (of embeddings, and outputs of linear operators) of size `from` rounded up to `to`.
[[nodiscard]] Graph padded(const Graph& graph, std::span<const Padding> padding);

}  // namespace pcg
