#pragma once
// Pipeline stages: the weighty blocks of a model shared out equally, in order.

#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// The virtual stage of each block. Blocks without weight before the first weighty one join the first stage, others the stage before them.
// Refuses when the weighty blocks do not divide by `stages`.
[[nodiscard]] Attempt<std::vector<int>> stages_of_blocks(std::span<const pcg::Block> blocks, int stages, const std::string& model);

// The virtual stage of each node: operators run in the stage of their block; sources belong to their first reader; what makes a tensor
// smaller happens before it is sent to the next stage, what makes it bigger after.
[[nodiscard]] std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages);

}  // namespace search
