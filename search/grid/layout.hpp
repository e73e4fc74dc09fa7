#pragma once
// From a grid to the sharding of every operator: samples go to data, positions to context (and to tensor, in sequence parallelism, where
// tensor parallelism cuts nothing else), experts to their share of both. What an operator cannot cut, it does redundantly.

#include <span>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/mapping.hpp"
#include "search/grid/grid.hpp"

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

// One per node of the graph, which holds one micro-batch of all replicas; weights and inputs get empty ones.
// block_stages: the virtual stage of each block. Refuses when heads, sequence or experts do not divide, or are not there.
[[nodiscard]] Attempt<std::vector<Layout>> layouts(const pcg::Graph& graph, const Grid& grid, const std::vector<int>& block_stages);

// The sharding of every node, as pcg::parallelize wants it: an input is cut as its first reader reads it.
[[nodiscard]] std::vector<pcg::Sharding> shardings(const pcg::Graph& graph, const Grid& grid, const std::vector<Layout>& layouts);

}  // namespace search
