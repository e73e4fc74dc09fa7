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
  bool merged = false;        // a forward pass whose parts alternate with those of the backward pass in the next slot
  bool operator==(const Slot&) const = default;
};

// What decides the order.
struct Schedule {
  pcg::ScheduleKind kind = pcg::ScheduleKind::one_f_one_b;
  int pipeline = 1, chunks = 1, micro_batches = 1;
  bool merges = false;  // pcg::Overlap::experts
};

// The plan's, of so many micro-batches.
[[nodiscard]] Schedule schedule_of(const pcg::Plan& plan, int micro_batches);

// Returns: the passes of rank `rank` in order: each (chunk, micro-batch) once forward and once backward.
// GPipe: all forward, then all backward (Huang et al., arXiv 1811.06965). 1F1B: pipeline - rank - 1 forward to warm up, then one
// of each in turn (Narayanan et al., PipeDream, SOSP'19). Interleaved: the same over chunks, in rounds of `pipeline` micro-batches
// per chunk, warming up with 2 (pipeline - rank - 1) + (chunks - 1) pipeline (Megatron-LM, arXiv 2104.04473, section 2.2).
// With as many micro-batches as ranks, interleaving runs all forward passes first, as Megatron-LM does.
// Merging: the forward and the backward pass of a turn run at once, so that a message needs a turn for each rank in either direction: every
// rank warms up as an interleaved schedule does, and with one pass more (Megatron-Core's schedules.py).
// Requires: interleaved: micro_batches % pipeline == 0; else chunks == 1. Throws: base::InternalError otherwise.
// Cost: O(chunks x micro_batches).
[[nodiscard]] std::vector<Slot> slots_of(const Schedule& schedule, int rank);

// Whether some rank merges a forward and a backward pass. Cost: that of slots_of for one rank.
[[nodiscard]] bool merges_something(const Schedule& schedule);

}  // namespace sim
