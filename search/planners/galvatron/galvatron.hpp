#pragma once
// Galvatron (Miao et al., VLDB'23, arXiv 2211.13878): layers shared out evenly among stages, each with a strategy of its own by dynamic
// programming over layers and memory, stage by stage. A subset of UniAP's space, at the same costs.

#include "search/problem/planner.hpp"
#include "search/solve/layers/chain_search.hpp"

namespace search {

// Candidates of every number of stages that is a power of two and divides the devices, or the one asked for, in every number of
// micro-batches from as many as stages on. Those that do not fit have no answer.
[[nodiscard]] std::vector<ChainCandidate> even_candidates(ChainSearch& search);
[[nodiscard]] SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context);
[[nodiscard]] Planner galvatron_planner();

}  // namespace search
