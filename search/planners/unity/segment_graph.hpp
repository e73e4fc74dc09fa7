#pragma once
// A segment as a graph of its own, which rules rewrite, and a graph made of segments again.

#include <optional>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/solve/mapping/segments.hpp"

namespace search {

struct SegmentGraph {
  pcg::Graph graph;                       // with sources of its own, of the same names
  std::optional<pcg::GraphNodeId> first;  // the input that stands for the end of the segment before; of its name
  std::vector<int> blocks;                // of the whole graph, by block of this one
  std::vector<bool> is_shared;            // per node: a source that operators outside the segment read, too
};

[[nodiscard]] SegmentGraph segment_graph(const pcg::Graph& whole, const Segment& segment);

// Whether two segments compute the same with weights of their own, so that what is found for one holds for the other.
[[nodiscard]] bool alike(const SegmentGraph& a, const SegmentGraph& b);

// A segment, rewritten or not, that stands in the place of a segment of the whole graph.
struct Piece {
  const pcg::Graph* graph = nullptr;       // what is there now, of the example's names
  std::optional<std::string> first;        // the example's input that stands for the end of the segment before
  const SegmentGraph* example = nullptr;   // the segment that was rewritten
  const SegmentGraph* original = nullptr;  // the segment that was here, alike
};

// A node of a joined graph by the piece and the node of Piece::graph that it was.
struct Joined {
  pcg::Graph graph;
  std::vector<std::vector<std::uint32_t>> node;  // [piece][node of its graph]; sources that pieces share are one node
};

// Returns the pieces as one graph. Keeps the names of the whole graph's nodes where they are still there.
[[nodiscard]] Joined joined(const pcg::Graph& whole, const std::vector<Piece>& pieces);

}  // namespace search
