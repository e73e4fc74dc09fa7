#pragma once
// Which loop of each operator tensor parallelism cuts, for any graph: Megatron-LM's rules (arXiv 1909.08053, section 3) read off the
// graph. A linear layer is cut by columns when all that reads its result, through attention, element-wise operators and dropout of the
// same pipeline stage, ends in linear layers that can be cut by rows or in the cross-entropy; the word embedding is cut by vocabulary.

#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// Whether a loop of a node may be cut into `degree` parts: its size and every dim that it indexes divide.
[[nodiscard]] bool can_cut(const pcg::Graph& graph, pcg::GraphNodeId node, int loop, int degree);

// One loop per node, -1: the operator is not cut by tensor parallelism. All -1 when degree is 1. block_stages: the virtual stage of each
// block; a cut tensor does not leave its stage.
// Refuses when attention heads do not divide, or nothing in the graph can be cut.
[[nodiscard]] Attempt<std::vector<int>> tensor_loops(const pcg::Graph& graph, const std::vector<int>& block_stages, int degree);

// The vocabulary of the word embedding: of the embedding with the largest table; 0 when there is none.
[[nodiscard]] std::int64_t word_vocabulary(const pcg::Graph& graph);

}  // namespace search
