#pragma once
// Data parallelism: one replica per device, gradients all-reduced (Li et al., VLDB 2020, arXiv 2006.15704).

#include "search/problem/confirmation.hpp"
#include "search/problem/planner.hpp"

namespace search {

[[nodiscard]] Attempt<pcg::Plan> data_parallel_plan(const Problem& problem, const pcg::Overlap& overlap = {});
// Confirms it; where it does not fit and replicas may share out their states, the first that fits of ZeRO 2, ZeRO 3, and ZeRO 3 with all
// layers computed again: so that a search has an answer before it begins.
enum class Replicas { whole, sharded };
void confirm_data_parallel(const Problem& problem, Replicas replicas, Confirmation& confirmation);
// Confirms the quickest few, by their estimates, of ZeRO 1 to 3 over all devices at every number of micro-batches, with and without
// recomputation, in a share of the budget: where a search's own costs err, so that it is not worse than these.
void confirm_sharded(const Problem& problem, const SearchContext& context, Budget& budget, Confirmation& confirmation);
[[nodiscard]] Planner data_parallel_planner();
// Sharded: ZeRO (Rajbhandari et al., SC'20, arXiv 1910.02054), as PyTorch's FSDP plans it (arXiv 2304.11277).
[[nodiscard]] Planner fsdp_planner();

}  // namespace search
