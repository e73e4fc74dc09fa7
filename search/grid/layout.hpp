#pragma once
// From a grid to the sharding of every operator: samples go to data, positions to context (and to tensor, in sequence parallelism, where
// tensor parallelism cuts nothing else), experts to their share of both. What an operator cannot cut, it does redundantly.

#include <span>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/mapping.hpp"
#include "search/grid/grid.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// The axes of the mesh that each axis of an operator's task space walks: of its copies and of its loops, in order.
struct Layout {
  std::vector<MeshAxis> copies;
  std::vector<std::vector<MeshAxis>> loops;  // one per loop

  [[nodiscard]] pcg::Sharding sharding(const Grid& grid) const;
  // The devices of a stage that is at these places of the pipeline: one for each direction.
  [[nodiscard]] pcg::MachineView view(const Grid& grid, std::span<const int> places) const;
  bool operator==(const Layout&) const = default;
};

// One per node of the graph, which holds one micro-batch of all replicas; weights and inputs get empty ones. block_stages: the virtual
// stage of each block.
// Refuses when heads, sequence or experts do not divide, or are not there.
[[nodiscard]] Attempt<std::vector<Layout>> layouts(const pcg::Graph& graph, const Grid& grid, const std::vector<int>& block_stages);

// The sharding of every node, as pcg::parallelize wants it: an input is cut as its first reader reads it.
[[nodiscard]] std::vector<pcg::Sharding> shardings(const pcg::Graph& graph, const Grid& grid, const std::vector<Layout>& layouts);

// Whether a node is a weight or an input.
[[nodiscard]] bool is_source(const pcg::GraphNode& node);

// Whether a loop of a node may be cut into `degree` parts: its size and every dim that it indexes divide.
[[nodiscard]] bool can_cut(const pcg::Graph& graph, pcg::GraphNodeId node, int loop, int degree);

// Which loop of each operator tensor parallelism cuts, for any graph: Megatron-LM's rules (arXiv 1909.08053, section 3) read off the
// graph. A linear layer is cut by columns when all that reads its result, through attention, element-wise operators and dropout of the
// same pipeline stage, ends in linear layers that can be cut by rows or in the cross-entropy; the word embedding is cut by vocabulary.
// Returns: one loop per node, -1: the operator is not cut by tensor parallelism. All -1 when degree is 1. block_stages: the virtual stage
// of each block; a cut tensor does not leave its stage. Refuses when attention heads do not divide, or nothing in the graph can be cut.
[[nodiscard]] Attempt<std::vector<int>> tensor_loops(const pcg::Graph& graph, const std::vector<int>& block_stages, int degree);

// The vocabulary of the word embedding: of the embedding with the largest table; 0 when there is none.
[[nodiscard]] std::int64_t word_vocabulary(const pcg::Graph& graph);

}  // namespace search
