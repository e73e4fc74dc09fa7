#pragma once
// Parts of a graph one after another, where each begins at the operator that ends the one before: the best variant of every part and the
// best placement of all operators together, by dynamic programming over the strategies in which those operators run.

#include <cstdint>
#include <optional>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/problem/budget.hpp"
#include "search/solve/mapping/mapping.hpp"

namespace search {

// Variants of a part, at least one, which compute the same and begin and end with the same kinds of operators. Equal links may share them.
using Link = std::vector<const Mapping::Part*>;

struct PlacedLink {
  std::size_t variant = 0;
  std::vector<Placed> placed;  // by the variant's operators
};

struct PlacedChain {
  std::vector<PlacedLink> links;
  double seconds = 0;
};

// Seconds up to each choice of an operator, and the choices of the operator before it from which that is cheapest.
struct ChainStep {
  std::vector<double> seconds;
  std::vector<std::uint32_t> came_from{};
};
[[nodiscard]] ChainStep chain_step(const std::vector<double>& before, const PairCosts& costs);

// Cost: O(links x variants x c^2) and the mapping's costs, for each round of movements that are resolved.
// Returns: nullopt where the time was up first.
[[nodiscard]] std::optional<PlacedChain> place_chain(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block,
                                                     const Budget& budget);

// A graph cut at operators that every path goes through (post-dominators; Unity, OSDI'22, section 5.3), so that each segment can be
// rewritten and mapped by itself, for every strategy in which the operators at its ends may run. Alike segments are worked on once.
struct Segment {
  std::vector<std::uint32_t> operators;  // nodes of the graph, ascending, without sources; `last` is one of them
  std::optional<std::uint32_t> first;    // the node that ends the segment before
  std::uint32_t last = 0;
  bool operator==(const Segment&) const = default;
};

// The operators that every path from operators before to operators after goes through, by one tensor; ascending, without the last one.
// Towers that begin after such an operator could overlap with what is before it: then it is none, but for one or two small ones.
// Cost: O(bottlenecks x edges).
[[nodiscard]] std::vector<std::uint32_t> bottlenecks(const pcg::Graph& graph);

// Where one more block of the graph ends: the operator before the cut has one output, which is read after it, and other tensors may cross
// it as well; ascending, without the last operator.
// Cost: O(edges).
[[nodiscard]] std::vector<std::uint32_t> ends_of_blocks(const pcg::Graph& graph);

// Cuts after some of these operators (ascending) so that every segment but the last has at least `fewest` operators; of those where it may
// next be cut, up to twice that size, the one with the least `disturbance` by node, the earliest of equals. `fewest` 0: one segment.
[[nodiscard]] std::vector<Segment> segments_of(const pcg::Graph& graph, const std::vector<std::uint32_t>& cuts, std::size_t fewest,
                                               const std::vector<std::size_t>& disturbance);

// The operators of a segment and of its first end as a part, numbered in the order of the segment, the first end last. What else comes
// from segments before has no edge in it.
[[nodiscard]] Mapping::Part part_of(const pcg::Graph& graph, const Segment& segment, const std::vector<KindNumber>& kinds,
                                    const OperatorCatalog& catalog, BranchShapes& shapes);

}  // namespace search
