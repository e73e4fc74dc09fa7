#include <algorithm>

#include "base/check.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {
namespace {

// Replays the slots of all ranks. Times are in forward passes of a chunk.
class Replay {
 public:
  explicit Replay(const Schedule& s)
      : s_(s),
        stages_(static_cast<std::size_t>(s.ranks * s.chunks)),
        forward_(stages_ * micro_batches(), kNotYet),
        backward_(forward_),
        now_(static_cast<std::size_t>(s.ranks), 0),
        next_(now_.size(), 0) {
    for (int rank = 0; rank < s.ranks; ++rank) slots_.push_back(slots_of(s, rank));
  }

  // The moment at which the last rank ends.
  double run() && {
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t rank = 0; rank < slots_.size(); ++rank)
        while (next_[rank] < slots_[rank].size() && step(rank)) moves = true;
    }
    for (std::size_t rank = 0; rank < slots_.size(); ++rank) BASE_CHECK(next_[rank] == slots_[rank].size(), "rank {} waits for ever", rank);
    return *std::ranges::max_element(now_);
  }

 private:
  static constexpr double kNotYet = -1;

  [[nodiscard]] std::size_t micro_batches() const { return static_cast<std::size_t>(s_.micro_batches); }
  // Whether the next pass of a rank could run: the stage before it has ended its forward pass, or the one after it its backward pass.
  bool step(std::size_t rank) {
    const Slot& slot = slots_[rank][next_[rank]];
    const auto stage = static_cast<std::size_t>(pcg::stage_of(s_.kind, s_.ranks, static_cast<int>(rank), slot.chunk));
    const std::size_t at = stage * micro_batches() + static_cast<std::size_t>(slot.micro_batch);
    double ready = 0;
    if (slot.pass == Pass::forward && stage > 0) ready = forward_[at - micro_batches()];
    if (slot.pass != Pass::forward && slot.pass != Pass::weights && stage + 1 < stages_) ready = backward_[at + micro_batches()];
    if (ready == kNotYet) return false;
    now_[rank] = std::max(now_[rank], ready) + (slot.pass == Pass::backward ? 2 : 1);
    if (slot.pass == Pass::forward) forward_[at] = now_[rank];
    else if (slot.pass != Pass::weights) backward_[at] = now_[rank];
    ++next_[rank];
    return true;
  }

  const Schedule& s_;
  std::size_t stages_;
  std::vector<double> forward_, backward_;  // by stage and micro-batch: when the pass ended
  std::vector<double> now_;                 // by rank
  std::vector<std::size_t> next_;
  std::vector<std::vector<Slot>> slots_;
};

}  // namespace

double empty_share(const Schedule& s) {
  if (s.ranks == 1 || runs_on(s.kind)) return 0;
  const double busy = 3.0 * s.chunks * s.micro_batches;
  return 1 - busy / Replay(s).run();
}

}  // namespace sim
