#pragma once
// The exhaustive search over Megatron's grid: tensor, pipeline, data, micro-batch, chunks, recomputation and ZeRO 1, pruned by memory,
// ranked by sums of the oracle's costs, the best few and plain data parallelism simulated whole. A baseline: it knows Megatron's rules of
// thumb and no more.

#include "search/problem/planner.hpp"

namespace search {

struct MegatronSearchConfig {
  base::Seconds budget{60};
  int simulate_best = 8;  // so many of the ranked candidates are simulated whole
};

// The objective is the simulated iteration time: never worse than that of plain data parallelism where that fits into memory, unless the
// time was up. Optimal: all candidates that fit into memory were simulated.
[[nodiscard]] SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config, const SearchContext& context);
[[nodiscard]] Planner megatron_search_planner();

}  // namespace search
