#pragma once
// Plans made by rule, not by search: data parallelism, Megatron-LM's grid (SC'21, arXiv 2104.04473), ZeRO / FSDP (SC'20), and the
// exhaustive search over Megatron's grid.

#include <cstdint>

#include "search/problem/planner.hpp"

namespace search {

// Zero means: not given. `data` then is what is left of the devices; micro_batch then is the largest that leaves one micro-batch
// when pipeline is 1, else 1.
struct MegatronConfig {
  int tensor = 1, pipeline = 1, data = 0, context = 1, expert = 1, chunks = 1;
  std::int64_t micro_batch = 0;  // samples per replica per micro-batch
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;
  bool sequence_parallel = false;
  pcg::Recompute recompute = pcg::Recompute::none;
  int zero = 0;
};

struct FsdpConfig {
  int stage = 3;  // ZeRO stage 1..3
  pcg::Recompute recompute = pcg::Recompute::none;
  std::int64_t micro_batch = 0;  // samples per device
};

// Throws: PlanError when the numbers do not fit the model, the batch or the cluster. All replicas, stages and ranks are placed as
// Megatron-LM does: tensor innermost, then context, then data, pipeline outermost.
[[nodiscard]] pcg::Plan megatron_plan(const Problem& problem, const MegatronConfig& config);
[[nodiscard]] pcg::Plan data_parallel_plan(const Problem& problem);
[[nodiscard]] pcg::Plan fsdp_plan(const Problem& problem, const FsdpConfig& config);

struct MegatronSearchConfig : SearchConfig {
  int simulate_best = 8;  // how many of the ranked grid are simulated whole
};
// The valid grid (tensor, pipeline, data, micro-batch, chunks, recomputation), pruned by memory, ranked by the oracle's sums, the best few
// simulated whole. A baseline: it knows Megatron's rules of thumb and no more.
[[nodiscard]] SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config);

}  // namespace search
