#pragma once
// Best paths over the wires of one node. Private to this folder.
//
// Best: nearest kind (topology/route_kind.hpp), then widest bottleneck, fewest hops, least latency, lowest link ids. A GPU does not forward
// for others: peer-to-peer copies and NCCL's channels between GPUs without a common link go over PCIe and the CPUs (NCCL does not relay P2P
// through a GPU by default), so GPUs are intermediates only where there is no other way. NICs never are.

#include <span>
#include <vector>

#include "topology/description.hpp"
#include "topology/route_kind.hpp"

namespace topology {

// One direction of a wire; a half-duplex wire gives two of them with one link.
struct DirectedEdge {
  int from = 0, to = 0;  // vertices
  int link = 0;          // of the node, from 0
  double bandwidth = 0;  // bytes per second
  double latency = 0;    // seconds
};

struct Path {
  std::vector<int> links;  // of the node, in order
  double bandwidth = 0;    // of the narrowest; infinite for an empty path
  double latency = 0;      // sum
  bool found = false;
  RouteKind kind = RouteKind::fabric;
};

// Returns the best path from `source` to every vertex, one entry per vertex. Cost: O(kinds x V^2 E log V) at worst, V and E those of one
// node.
[[nodiscard]] std::vector<Path> best_paths(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source);

}  // namespace topology
