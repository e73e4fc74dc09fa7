#pragma once
// Pipeline stages: the layers of a model shared out in order. A layer is a weighty block with the blocks without weight after it (a head,
// a loss); those before the first weighty one (an embedding) are part of the first layer.

#include <span>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace search {

// Units are what stages take or leave as a whole.
// Returns: the unit of each block: 0 before the first layer, then each layer, and layers + 1 after the last one. All are in unit 1 where no
// block is weighty.
[[nodiscard]] std::vector<int> units_of_blocks(std::span<const pcg::Block> blocks);

// Returns: the virtual stage of each block, where each virtual stage takes layers_per_stage. Blocks before the first layer are in the first
// stage, blocks after the last layer in the last one, also where that stage takes no layer. A model of no weighty block is all in stage 0.
// Requires: layers_per_stage adds up to the weighty blocks; unless none is weighty, only the first and the last are 0, where there are such
// blocks (may_be_bare()).
[[nodiscard]] std::vector<int> stages_of_blocks(std::span<const pcg::Block> blocks, std::span<const int> layers_per_stage);

// Whether the first stage, and the last one, may take no layer, because other blocks are there: an embedding, a head.
struct BareEnds {
  bool first = false, last = false;
};
[[nodiscard]] BareEnds may_be_bare(std::span<const pcg::Block> blocks);

// The virtual stage of each node: operators run in the stage of their block; sources belong to their first reader; what makes a tensor
// smaller happens before it is sent to the next stage, what makes it bigger after.
[[nodiscard]] std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages);
// The same where each operator has a stage of its own: `stage_of` is by node of the graph that the PCG was made of.
[[nodiscard]] std::vector<int> stages_around_operators(const pcg::Pcg& pcg, const std::vector<int>& stage_of);

// "7 + 14 x 8 + 7".
[[nodiscard]] std::string layers_text(std::span<const int> layers_per_stage);

}  // namespace search
