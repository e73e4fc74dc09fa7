#pragma once
// Random small sizes for a graph, so that it can be evaluated exactly.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pcg/resizing/resize.hpp"

namespace pcg {

struct SmallForms {
  SizeMap sizes;  // of segments of dims (pcg/resizing/segments.hpp), and of counts such as heads
  Graph graph;
  std::optional<Pcg> pcg;
};

struct DrawnSizes {
  struct Draw {
    std::uint64_t seed = 0;
    SmallForms small;
  };
  std::vector<Draw> draws;               // each of other sizes, of the first seed that gives them
  std::optional<base::Refusal> refusal;  // why a seed gave none, which ended the drawing: its last attempt did not fit; names the node
};

// Returns: for one seed after another, until `most` draws were of different sizes, a graph at random small sizes under which it is
// well-formed and, if a PCG is given, that at the same sizes, with all shardings lawful. The PCG may be of another graph (rewritten by
// substitutions) that reads the same inputs and weights, by name: those get the same shapes.
//
// Method: dims are cut in segments, graph and PCG together, so that each size is a sum of segments. Each size of a segment, and each count,
// is a variable; all segments of one size stay of one size, so that residuals and ties survive. Variables are drawn at random among the
// small multiples of the degrees that dims with such segments are cut in. Sums need no equations then; what is no sum (products of
// reshapes, heads that divide a width, groups that divide channels, rows after a stride) is repaired one variable at a time
// (size_repair.hpp), and a draw that no repair makes fit is given up for another. Weights follow from their readers in the graph, and from
// the graph in the PCG.
//
// Requires: graph and PCG hold the same batch. Keeps: variables above 2 that differ are different afterwards; those up to 2 stay.
// Cost: up to 64 attempts for each seed.
[[nodiscard]] DrawnSizes draw_sizes(const Graph& graph, const Pcg* pcg, std::span<const std::uint64_t> seeds, std::size_t most);

}  // namespace pcg
