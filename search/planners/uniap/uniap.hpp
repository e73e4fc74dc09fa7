#pragma once
// UniAP (Lin et al., CVPR'25, arXiv 2307.16375): how a pipeline cuts layers into stages, and how each layer runs on its stage, chosen
// together. Galvatron (Miao et al., VLDB'23, arXiv 2211.13878) is a part of its space, at the same costs: layers shared out evenly among
// stages, each with a strategy of its own by dynamic programming over layers and memory, stage by stage.

#include "search/problem/planner.hpp"
#include "search/solve/layers/chain_search.hpp"

namespace search {

// Every number of stages that divides the devices, with every number of micro-batches that divides the batch, solved by dynamic programming
// (layer_chain.hpp); the best few are simulated, and so are Galvatron's, which are in the same space.
[[nodiscard]] SearchResult uniap_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context);
[[nodiscard]] Planner uniap_planner();
[[nodiscard]] SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context);
[[nodiscard]] Planner galvatron_planner();

}  // namespace search
