#pragma once
// The order in which a pipeline stage runs its micro-batches.

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {

// The passes that an iteration is made of, and where in the iteration a micro-batch's backward pass lies.
// backward: gradients of inputs and weights. inputs, weights: the same in two passes, where the schedule separates them.
enum class Pass : std::uint8_t { forward, backward, inputs, weights, update };

// Backward passes differ by position: the first micro-batch's gradients are kept as they are, later ones are added to them, and the last
// one's sums are final. `only`: the iteration has one micro-batch, which is first and last.
enum class MicroBatchPosition : std::uint8_t { only, first, middle, last };

template <class T>
using ByPosition = base::ByEnum<MicroBatchPosition, MicroBatchPosition::last, T>;

// Requires: 0 <= micro_batch < micro_batches.
[[nodiscard]] constexpr MicroBatchPosition position_of(int micro_batch, int micro_batches) {
  if (micro_batches == 1) return MicroBatchPosition::only;
  if (micro_batch == 0) return MicroBatchPosition::first;
  return micro_batch == micro_batches - 1 ? MicroBatchPosition::last : MicroBatchPosition::middle;
}

// Whether the gradients are complete after the backward pass at this position.
[[nodiscard]] constexpr bool is_final(MicroBatchPosition p) { return p == MicroBatchPosition::only || p == MicroBatchPosition::last; }

struct Slot {
  int chunk = 0;  // the virtual stage: pcg::stage_of
  int micro_batch = 0;
  Pass pass = Pass::forward;  // anything but update
  bool merged = false;        // a forward pass whose parts alternate with those of the backward pass in the next slot
  bool operator==(const Slot&) const = default;
};

// The facts that decide the order.
struct Schedule {
  pcg::ScheduleKind kind = pcg::ScheduleKind::one_f_one_b;
  int ranks = 1, chunks = 1, micro_batches = 1;
  bool merges = false;  // pcg::merges_passes
  int group = 0;        // pcg::Plan::micro_batch_group
  bool lean = false;    // pcg::Plan::lean_warm_up
};

// Returns the plan's schedule for `micro_batches` micro-batches.
[[nodiscard]] Schedule schedule_of(const pcg::Plan& plan, int micro_batches);

// Whether a schedule has backward passes that leave the gradients of weights for later, and whether it has others.
[[nodiscard]] constexpr bool splits_backward(pcg::ScheduleKind k) {
  return k == pcg::ScheduleKind::zero_bubble || k == pcg::ScheduleKind::dual_pipe;
}
[[nodiscard]] constexpr bool has_whole_backward(pcg::ScheduleKind k) { return k != pcg::ScheduleKind::zero_bubble; }
// Whether iterations follow each other without emptying the pipeline.
[[nodiscard]] constexpr bool runs_on(pcg::ScheduleKind k) { return k == pcg::ScheduleKind::two_bw; }

// Returns: the passes of rank `rank` in order: each (chunk, micro-batch) once forward and once backward, in one pass or in two.
// GPipe: all forward, then all backward (Huang et al., arXiv 1811.06965). 1F1B: ranks - rank - 1 forward to warm up, then one
// of each alternately (Narayanan et al., PipeDream, SOSP'19). Interleaved: the same over chunks, in rounds of `ranks` micro-batches
// per chunk, warming up with 2 (ranks - rank - 1) + (chunks - 1) ranks (Megatron-LM, arXiv 2104.04473, section 2.2).
// With as many micro-batches as ranks, interleaving runs all forward passes first, as Megatron-LM does.
// Lean: interleaved or flexible, warming up with ranks - rank - 1 passes less, as 1F1B does. Each turn of a rank still comes after those of
// its neighbours that it needs; but a message has no turn's time on its way any more.
// Flexible: interleaved, with as many rounds as groups of `group` micro-batches fit, as nearly equal as can be, longer ones first (Llama 3,
// arXiv 2407.21783, section 3.3.2). Breadth-first: one round, all of it forward before any of it backward (Lamy-Poirier, arXiv 2211.05953).
// ZB-H1: 1F1B whose backward passes leave the gradients of weights to passes of their own, `rank` micro-batches later, so that each rank
// keeps as much as the first one of 1F1B (Qi et al., arXiv 2401.10241, section 2.1). DualPipe: of a pair of ranks (arXiv 2412.19437,
// section 3.2.1, and its code); the schedule of 2 x ranks x 2 micro-batches or more, without those that the iteration does not have.
// PipeDream-2BW: 1F1B through one iteration after another (Narayanan et al., arXiv 2006.09503).
// Merging: the forward and the backward pass of a turn run at once, so that a message needs a turn for each rank in either direction: every
// rank warms up as an interleaved schedule does, and with one pass more (Megatron-Core's schedules.py).
// Requires: interleaved: micro_batches % ranks == 0; DualPipe: two chunks; flexible: group >= min(ranks, micro_batches); one chunk unless
// interleaved, flexible or breadth-first.
// Throws: base::InternalError otherwise.
// Cost: O(chunks x micro_batches).
[[nodiscard]] std::vector<Slot> slots_of(const Schedule& schedule, int rank);

// Returns the part of an iteration in which a rank has nothing to run where all of them take equally long, and messages no time: by a
// replay of the slots, in which the gradients of inputs and those of weights each take as long as a forward pass. 1F1B: (p - 1) / (m + p -
// 1) of p ranks and m micro-batches; interleaved with v chunks (p - 1) / (v m + p - 1). 0 where iterations run on. Cost: O(slots of all
// ranks + ranks x (ranks + slots of one)).
[[nodiscard]] double empty_share(const Schedule& schedule);

// Returns the most micro-batches' chunks of which a rank keeps activations at once: those with a forward pass and no backward pass yet. One
// that passes forwards while another passes backwards (merged) is not counted.
// Requires: neither DualPipe nor 2BW.
[[nodiscard]] int most_alive(const Schedule& schedule, int rank);

// Whether some rank merges a forward and a backward pass.
// Cost: DualPipe: that of slots_of for one rank.
[[nodiscard]] bool merges_something(const Schedule& schedule);

}  // namespace sim
