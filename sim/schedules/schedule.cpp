#include "sim/schedules/schedule.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {
namespace {

using pcg::ScheduleKind;

// How many micro-batches go through a chunk before the next chunk has its turn.
std::vector<int> rounds_of(const Schedule& s) {
  if (s.kind == ScheduleKind::interleaved) return std::vector<int>(static_cast<std::size_t>(s.micro_batches / s.ranks), s.ranks);
  const int count = s.kind == ScheduleKind::flexible ? std::max(1, s.micro_batches / s.group) : 1;
  std::vector<int> rounds;
  for (int r = 0; r < count; ++r) rounds.push_back(s.micro_batches / count + (r < s.micro_batches % count ? 1 : 0));
  return rounds;
}

// All passes in the order in which they begin; backward goes through the chunks from last to first.
std::vector<Slot> passes_of(const Schedule& s, const std::vector<int>& rounds, Pass pass) {
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(s.micro_batches) * static_cast<std::size_t>(s.chunks));
  int first = 0;
  for (const int round : rounds) {
    for (int c = 0; c < s.chunks; ++c)
      for (int m = first; m < first + round; ++m) slots.push_back({pass == Pass::forward ? c : s.chunks - 1 - c, m, pass});
    first += round;
  }
  return slots;
}

// Forward passes before the first backward pass, or before the first that is merged with one.
int warm_up(const Schedule& s, int round, int rank) {
  const int behind = s.ranks - rank - 1, chunks_before = (s.chunks - 1) * round;
  if (s.kind == ScheduleKind::gpipe || s.kind == ScheduleKind::breadth_first) return s.micro_batches * s.chunks;
  if (s.merges) return 2 * behind + chunks_before + 1;
  if (s.kind == ScheduleKind::one_f_one_b || s.kind == ScheduleKind::zero_bubble || s.kind == ScheduleKind::two_bw) return behind;
  if (s.lean) return behind + chunks_before;
  // As Megatron-LM has it: with as many micro-batches as ranks there is no steady state to warm up for.
  if (s.kind == ScheduleKind::interleaved && s.micro_batches == s.ranks) return s.micro_batches * s.chunks;
  return 2 * behind + chunks_before;
}

// Passes that make the gradients of weights come `late` micro-batches after those that make the gradients of inputs.
std::vector<Slot> with_weights_late(const std::vector<Slot>& slots, int late) {
  std::vector<Slot> order;
  order.reserve(slots.size() / 2 * 3);
  std::vector<Slot> weights;
  std::size_t next = 0;
  for (const Slot& slot : slots) {
    order.push_back(slot);
    if (slot.pass == Pass::forward) continue;
    order.back().pass = Pass::inputs;
    weights.push_back({slot.chunk, slot.micro_batch, Pass::weights});
    if (weights.size() > static_cast<std::size_t>(late)) order.push_back(weights[next++]);
  }
  order.insert(order.end(), weights.begin() + static_cast<std::ptrdiff_t>(next), weights.end());
  return order;
}

std::vector<Slot> alternate(const Schedule& s, int rank) {
  const std::vector<int> rounds = rounds_of(s);
  const std::vector<Slot> forward = passes_of(s, rounds, Pass::forward), backward = passes_of(s, rounds, Pass::backward);
  const std::size_t first = std::min(static_cast<std::size_t>(warm_up(s, rounds.front(), rank)), forward.size());
  std::vector<Slot> order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(first));
  order.reserve(2 * forward.size());
  for (std::size_t k = first; k < forward.size(); ++k) {
    order.push_back(forward[k]);
    order.back().merged = s.merges;
    order.push_back(backward[k - first]);
  }
  order.insert(order.end(), backward.end() - static_cast<std::ptrdiff_t>(first), backward.end());
  return s.kind == ScheduleKind::zero_bubble ? with_weights_late(order, rank) : order;
}

}  // namespace

Schedule schedule_of(const pcg::Plan& plan, int micro_batches) {
  return {plan.schedule,          pcg::ranks_of(plan), plan.chunks, micro_batches, pcg::merges_passes(plan),
          plan.micro_batch_group, plan.lean_warm_up};
}

std::vector<Slot> slots_of(const Schedule& s, int rank) {
  const bool one_chunk = s.kind == ScheduleKind::gpipe || s.kind == ScheduleKind::one_f_one_b || s.kind == ScheduleKind::zero_bubble ||
                         s.kind == ScheduleKind::two_bw;
  BASE_CHECK(!one_chunk || s.chunks == 1, "{} chunks of a schedule that has one", s.chunks);
  BASE_CHECK(s.kind != ScheduleKind::interleaved || s.micro_batches % s.ranks == 0, "{} micro-batches are not a multiple of {} ranks",
             s.micro_batches, s.ranks);
  BASE_CHECK(s.kind != ScheduleKind::flexible || s.group >= std::min(s.ranks, s.micro_batches), "groups of {} for {} ranks", s.group,
             s.ranks);
  BASE_CHECK(s.kind != ScheduleKind::dual_pipe || s.chunks == 2, "dualpipe with {} chunks", s.chunks);
  return s.kind == ScheduleKind::dual_pipe ? dual_pipe(s, rank) : alternate(s, rank);
}

// The last rank warms up for the shortest time.
bool merges_something(const Schedule& s) { return std::ranges::any_of(slots_of(s, s.ranks - 1), &Slot::merged); }

}  // namespace sim
