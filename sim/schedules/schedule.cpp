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

std::vector<Slot> alternate(int warm_up, int passes, auto forward_slot, auto backward_slot) {
  std::vector<Slot> order;
  order.reserve(static_cast<std::size_t>(2 * passes));
  for (int k = 0; k < warm_up; ++k) order.push_back(forward_slot(k));
  for (int k = warm_up; k < passes; ++k) {
    order.push_back(forward_slot(k));
    order.push_back(backward_slot(k - warm_up));
  }
  for (int k = passes - warm_up; k < passes; ++k) order.push_back(backward_slot(k));
  return order;
}

}  // namespace

std::vector<Slot> schedule(pcg::ScheduleKind kind, int pipeline, int rank, int chunks, int micro_batches) {
  const auto plain_forward = [](int k) { return Slot{0, k, Pass::forward}; };
  const auto plain_backward = [](int k) { return Slot{0, k, Pass::backward}; };
  switch (kind) {
    case pcg::ScheduleKind::gpipe: {
      BASE_CHECK(chunks == 1, "gpipe with {} chunks", chunks);
      return alternate(micro_batches, micro_batches, plain_forward, plain_backward);
    }
    case pcg::ScheduleKind::one_f_one_b: {
      BASE_CHECK(chunks == 1, "1f1b with {} chunks", chunks);
      return alternate(std::min(pipeline - rank - 1, micro_batches), micro_batches, plain_forward, plain_backward);
    }
    case pcg::ScheduleKind::interleaved: {
      BASE_CHECK(micro_batches % pipeline == 0, "{} micro-batches are not a multiple of {} stages", micro_batches, pipeline);
      const int passes = micro_batches * chunks;
      // As Megatron-LM has it: with as many micro-batches as ranks there is no steady state to warm up for.
      const int warm_up = micro_batches == pipeline ? passes : std::min(2 * (pipeline - rank - 1) + (chunks - 1) * pipeline, passes);
      return alternate(
          warm_up, passes, [&](int k) { return interleaved_slot(Pass::forward, k, pipeline, chunks); },
          [&](int k) { return interleaved_slot(Pass::backward, k, pipeline, chunks); });
    }
  }
  return {};
}

}  // namespace sim
