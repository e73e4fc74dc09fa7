#pragma once
// Pipeline stages: the layers of a model shared out in order. A layer is a weighty block with the blocks without weight behind it (a head,
// a loss); those before the first weighty one (an embedding) are part of the first layer.

#include <span>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace search {

// Returns: the layer of each block, counted from 0. All are in layer 0 where no block is weighty.
[[nodiscard]] std::vector<int> layers_of_blocks(std::span<const pcg::Block> blocks);

// Returns: the virtual stage of each block, where each virtual stage takes so many layers. What stands before the first layer is in the
// first stage, what stands behind the last layer in the last one, also where that stage takes no layer. A model of no weighty block is all
// in stage 0. Requires: layers_per_stage adds up to the weighty blocks; unless none is weighty, 0 stands first and last alone, where there
// are such blocks (may_be_bare()).
[[nodiscard]] std::vector<int> stages_of_blocks(std::span<const pcg::Block> blocks, std::span<const int> layers_per_stage);

// Whether the first stage, and the last one, may take no layer, because other blocks stand there: an embedding, a head.
struct BareEnds {
  bool first = false, last = false;
};
[[nodiscard]] BareEnds may_be_bare(std::span<const pcg::Block> blocks);

// The virtual stage of each node: operators run in the stage of their block; sources belong to their first reader; what makes a tensor
// smaller happens before it is sent to the next stage, what makes it bigger after.
[[nodiscard]] std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages);
// The same where each operator has a stage of its own: `stage` is by node, of operators alone.
[[nodiscard]] std::vector<int> stages_around_operators(const pcg::Pcg& pcg, std::vector<int> stage);

}  // namespace search
