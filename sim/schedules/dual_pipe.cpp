#include "sim/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace sim {
namespace {

constexpr int kNear = 0, kFar = 1;  // chunks

class DualPipe {
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

}  // namespace

std::vector<Slot> dual_pipe(const Schedule& s, int rank) { return DualPipe(s, rank).run(); }

}  // namespace sim
