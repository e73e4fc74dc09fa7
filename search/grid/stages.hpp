#pragma once
// Pipeline stages: the layers of a model shared out in order. A layer is a weighty block with the blocks without weight after it (a head,
// a loss); those before the first weighty one (an embedding) are part of the first layer.

#include <span>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"

namespace search {

// Returns: the layer of each block, counted from 0. All are in layer 0 where no block is weighty.
[[nodiscard]] std::vector<int> layers_of_blocks(std::span<const pcg::Block> blocks);

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

// `plan`: every node in one and the same stage, on the devices of one rank of the pipeline. `layer_of_block`: as layers_of_blocks() gives
// them.
// Returns: the seconds of all kernels of each layer for one micro-batch, forward, backward and recomputed, as the simulator costs them, on
// the slowest type of these devices. What moves between devices is not counted.
// Throws: base::InputError when a device does not support the precision.
// Cost: O(nodes x points).
[[nodiscard]] std::vector<double> layer_costs(const pcg::Plan& plan, std::span<const int> layer_of_block, const sim::Oracle& oracle);

// Layers shared out among the stages of a pipeline, so that the slowest stage is as quick as can be: a pipeline goes at its pace.
// `seconds`: of each layer on each rank of the pipeline, [rank][layer]; virtual stage s runs on rank s modulo the number of ranks.
// Returns: how many layers each virtual stage takes, in order, each at least one. Of all splits that are as quick the most even one (the
// least sum of the squares of the stages' seconds), so that no stage keeps more layers in memory than it must.
// Requires: 1 <= stages <= layers, at least one rank, equally many layers of each, no negative seconds.
// Cost: O(stages x layers x layers of the longest stage).
[[nodiscard]] std::vector<int> balanced_layers(std::span<const std::vector<double>> seconds, int stages);

// "7 + 14 x 8 + 7".
[[nodiscard]] std::string layers_text(std::span<const int> layers_per_stage);

}  // namespace search
