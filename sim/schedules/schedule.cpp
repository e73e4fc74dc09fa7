#include "sim/schedules/schedule.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace sim {
namespace {

// The k-th pass of an interleaved schedule; backward goes through the chunks from last to first.
Slot interleaved_slot(Pass pass, int k, int pipeline, int chunks) {
  const int round = k / (pipeline * chunks);
  const int within = k % (pipeline * chunks);
  const int chunk = within / pipeline;
  return {pass == Pass::forward ? chunk : chunks - 1 - chunk, round * pipeline + within % pipeline, pass};
}

std::vector<Slot> alternate(int warm_up, int passes, bool merges, auto slot) {
  std::vector<Slot> order;
  order.reserve(static_cast<std::size_t>(2 * passes));
  for (int k = 0; k < warm_up; ++k) order.push_back(slot(Pass::forward, k));
  for (int k = warm_up; k < passes; ++k) {
    order.push_back(slot(Pass::forward, k));
    order.back().merged = merges;
    order.push_back(slot(Pass::backward, k - warm_up));
  }
  for (int k = passes - warm_up; k < passes; ++k) order.push_back(slot(Pass::backward, k));
  return order;
}

// Forward passes before the first backward pass, or before the first that is merged with one.
int warm_up(const Schedule& s, int rank) {
  const int behind = s.pipeline - rank - 1, passes = s.micro_batches * s.chunks;
  if (s.kind == pcg::ScheduleKind::gpipe) return passes;
  if (s.merges) return std::min(2 * behind + (s.chunks - 1) * s.pipeline + 1, passes);
  if (s.kind == pcg::ScheduleKind::one_f_one_b) return std::min(behind, passes);
  // As Megatron-LM has it: with as many micro-batches as ranks there is no steady state to warm up for.
  return s.micro_batches == s.pipeline ? passes : std::min(2 * behind + (s.chunks - 1) * s.pipeline, passes);
}

}  // namespace

Schedule schedule_of(const pcg::Plan& plan, int micro_batches) {
  return {plan.schedule, plan.stages / plan.chunks, plan.chunks, micro_batches, plan.overlap.experts.value_or(false)};
}

std::vector<Slot> slots_of(const Schedule& s, int rank) {
  BASE_CHECK(s.kind == pcg::ScheduleKind::interleaved || s.chunks == 1, "{} chunks of a schedule that has one", s.chunks);
  BASE_CHECK(s.kind != pcg::ScheduleKind::interleaved || s.micro_batches % s.pipeline == 0,
             "{} micro-batches are not a multiple of {} stages", s.micro_batches, s.pipeline);
  return alternate(warm_up(s, rank), s.micro_batches * s.chunks, s.merges,
                   [&](Pass pass, int k) { return interleaved_slot(pass, k, s.chunks == 1 ? 1 : s.pipeline, s.chunks); });
}

// The last rank warms up for the shortest time.
bool merges_something(const Schedule& s) { return std::ranges::any_of(slots_of(s, s.pipeline - 1), &Slot::merged); }

}  // namespace sim
