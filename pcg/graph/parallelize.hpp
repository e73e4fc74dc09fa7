#pragma once
// From a computation graph and a sharding of each node to a PCG.

#include <span>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// Builds the PCG of a graph by inserting parallel operators wherever the parallel shape that a reader wants differs from the one that is
// there. Readers that want one parallel shape of a tensor share one chain of them. Every planner but Unity builds its PCG through this.
//   Requires: one sharding per node of the graph. Those of weights are ignored: a weight is cut as its first reader needs it.
//   Keeps:    the names of nodes; a parallel operator is named after its tensor ("layer0.qkv.replicate").
//   Throws:   ShapeError, naming the node, when a sharding is unlawful.
[[nodiscard]] Pcg parallelize(const Graph& graph, std::span<const Sharding> shardings);

// Returns one sharding per node with every degree 1: parallelize(graph, unsharded(graph)) runs on one device.
[[nodiscard]] std::vector<Sharding> unsharded(const Graph& graph);

}  // namespace pcg
