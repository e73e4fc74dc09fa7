#pragma once
// Which virtual stages of a pipeline are on which ranks: groups of devices that run their stages in one order.

#include "pcg/plan/plan.hpp"

namespace pcg {

// Rank r of n has the stages r, r + n, r + 2n, ...; DualPipe's has r and 2n - 1 - r, and is a pair of places in the pipeline: each of the
// two runs the one stage for micro-batches of one direction and the other stage for those of the other.
[[nodiscard]] constexpr int rank_of(ScheduleKind kind, int ranks, int stage) {
  if (kind == ScheduleKind::dual_pipe && stage >= ranks) return 2 * ranks - 1 - stage;
  return stage % ranks;
}
[[nodiscard]] constexpr int stage_of(ScheduleKind kind, int ranks, int rank, int chunk) {
  if (kind == ScheduleKind::dual_pipe && chunk == 1) return 2 * ranks - 1 - rank;
  return chunk * ranks + rank;
}

[[nodiscard]] inline int ranks_of(const Plan& plan) { return plan.stages / plan.chunks; }
[[nodiscard]] inline int rank_of(const Plan& plan, int stage) { return rank_of(plan.schedule, ranks_of(plan), stage); }

}  // namespace pcg
