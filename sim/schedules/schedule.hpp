#pragma once
// The order in which a pipeline stage runs its micro-batches.

#include <cstdint>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/schedules/pass.hpp"

namespace sim {

struct Slot {
  int chunk = 0;  // virtual stage = chunk * pipeline + rank
  int micro_batch = 0;
  Pass pass = Pass::forward;  // or backward
  bool operator==(const Slot&) const = default;
};

// Returns: the passes of rank `rank` of `pipeline` in order: each (chunk, micro-batch) once forward and once backward.
// GPipe: all forward, then all backward (Huang et al., arXiv 1811.06965). 1F1B: pipeline - rank - 1 forward to warm up, then one
// of each in turn (Narayanan et al., PipeDream, SOSP'19). Interleaved: the same over chunks, in rounds of `pipeline` micro-batches
// per chunk, warming up with 2 (pipeline - rank - 1) + (chunks - 1) pipeline (Megatron-LM, arXiv 2104.04473, section 2.2).
// With as many micro-batches as ranks, interleaving runs all forward passes first, as Megatron-LM does.
// Requires: interleaved: micro_batches % pipeline == 0; else chunks == 1. Throws: base::InternalError otherwise.
// Cost: O(chunks x micro_batches).
[[nodiscard]] std::vector<Slot> schedule(pcg::ScheduleKind kind, int pipeline, int rank, int chunks, int micro_batches);

}  // namespace sim
