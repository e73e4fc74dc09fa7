#include "sim/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "base/check.hpp"

namespace sim {
namespace {

// DualPipe's order of passes. Chunk 0 of a pair of ranks is the stage that lies nearer to the end where micro-batches of its direction
// begin, chunk 1 the other one.
class DualPipe {
  static constexpr int kNear = 0, kFar = 1;  // chunks

 public:
  DualPipe(const Schedule& s, int rank) : schedule_(s), rank_(rank), inner_(s.ranks - rank - 1) {}

  std::vector<Slot> run() && {
    // The order is that of at least 2 x ranks micro-batches in each direction: left out, those that an iteration does not have change
    // nothing of what the others wait for.
    begin();
    steady(std::max(schedule_.micro_batches, 2 * schedule_.ranks) - 2 * schedule_.ranks + rank_ + 1);
    end();
    return std::move(order_);
  }

 private:
  void begin() {
    for (int i = 0; i < 2 * inner_; ++i) add(Pass::forward, kNear);
    for (int i = 0; i <= rank_; ++i) {
      add(Pass::forward, kNear);
      add(Pass::forward, kFar);
    }
    for (int i = 0; i < inner_; ++i) {
      backward(kFar, true);
      weights();
      add(Pass::forward, kFar);
    }
  }
  void steady(int turns) {
    for (int i = 0; i < turns; ++i) {
      // The two innermost ranks begin apart: the backward pass is of the micro-batch whose forward pass comes right before it.
      if (i == 0 && inner_ == 0) {
        add(Pass::forward, kNear);
        backward(kFar, false);
      } else {
        both(kNear, kFar);
      }
      both(kFar, kNear);
    }
    for (int i = 0; i < inner_; ++i) {
      backward(kFar, false);
      both(kFar, kNear);
    }
  }
  void end() {
    // From the middle on, gradients of weights are left for the bubbles.
    const int turns = rank_ + 1;
    for (int i = 0; i < turns; ++i) {
      backward(kFar, i > turns / 2 || (i == turns / 2 && rank_ % 2 == 1));
      backward(kNear, i >= turns / 2);
    }
    for (int i = 0; i < inner_; ++i) {
      weights();
      backward(kNear, true);
    }
    while (!left_.empty()) weights();
  }

  bool add(Pass pass, int chunk) {
    const int micro_batch = next_.at(static_cast<std::size_t>(pass == Pass::forward ? 0 : 1)).at(static_cast<std::size_t>(chunk))++;
    if (micro_batch >= schedule_.micro_batches) return false;
    order_.push_back({chunk, micro_batch, pass});
    return true;
  }
  void backward(int chunk, bool split) {
    const int micro_batch = next_[1].at(static_cast<std::size_t>(chunk));
    add(split ? Pass::inputs : Pass::backward, chunk);
    if (split) left_.push_back({chunk, micro_batch, Pass::weights});
  }
  void weights() {
    if (left_.front().micro_batch < schedule_.micro_batches) order_.push_back(left_.front());
    left_.pop_front();
  }
  void both(int forward, int back) {
    const bool ahead = add(Pass::forward, forward);
    const std::size_t at = order_.size();
    if (add(Pass::backward, back) && ahead) order_[at - 1].merged = schedule_.merges;
  }

  const Schedule& schedule_;
  int rank_, inner_;                          // ranks between this one and the middle
  std::array<std::array<int, 2>, 2> next_{};  // forward and backward, by chunk: the next micro-batch
  std::deque<Slot> left_;                     // passes that make the gradients of weights, in order
  std::vector<Slot> order_;
};

using pcg::ScheduleKind;

// How many micro-batches go through a chunk before the next chunk has its turn.
std::vector<int> rounds_of(const Schedule& s) {
  if (s.kind == ScheduleKind::interleaved) return std::vector<int>(static_cast<std::size_t>(s.micro_batches / s.ranks), s.ranks);
  const int count = s.kind == ScheduleKind::flexible ? std::max(1, s.micro_batches / s.group) : 1;
  std::vector<int> rounds;
  for (int r = 0; r < count; ++r) rounds.push_back(s.micro_batches / count + (r < s.micro_batches % count ? 1 : 0));
  return rounds;
}

// The first of them.
int first_round(const Schedule& s) {
  if (s.kind == ScheduleKind::interleaved) return s.ranks;
  return s.kind == ScheduleKind::flexible ? rounds_of(s).front() : s.micro_batches;
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
  const int ranks_after = s.ranks - rank - 1, chunks_before = (s.chunks - 1) * round;
  if (s.kind == ScheduleKind::gpipe || s.kind == ScheduleKind::breadth_first) return s.micro_batches * s.chunks;
  if (s.merges) return 2 * ranks_after + chunks_before + 1;
  if (s.kind == ScheduleKind::one_f_one_b || s.kind == ScheduleKind::zero_bubble || s.kind == ScheduleKind::two_bw) return ranks_after;
  if (s.lean) return ranks_after + chunks_before;
  // As Megatron-LM has it: with as many micro-batches as ranks there is no steady state to warm up for.
  if (s.kind == ScheduleKind::interleaved && s.micro_batches == s.ranks) return s.micro_batches * s.chunks;
  return 2 * ranks_after + chunks_before;
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
  return s.kind == ScheduleKind::dual_pipe ? DualPipe(s, rank).run() : alternate(s, rank);
}

// After the warm-up a forward pass comes before each backward pass; if they are merged, it keeps layers as the other one frees them.
int most_alive(const Schedule& s, int rank) {
  return std::min(warm_up(s, first_round(s), rank) + (s.merges ? 0 : 1), s.micro_batches * s.chunks);
}

// The last rank warms up for the shortest time.
bool merges_something(const Schedule& s) {
  const int last = s.ranks - 1;
  if (s.kind == ScheduleKind::dual_pipe) return std::ranges::any_of(slots_of(s, last), &Slot::merged);
  return s.merges && warm_up(s, first_round(s), last) < s.micro_batches * s.chunks;
}

}  // namespace sim
