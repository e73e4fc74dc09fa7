#include "sim/accounting/steady_state.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace sim {
namespace {

// Times of an iteration are sums of thousands of doubles; what is off by less than this share of a period is rounding.
constexpr double kPeriodRounding = 1e-9;

class Comparison {
 public:
  Comparison(const Accounts& a, int micro_batches, const Rhythm& rhythm) : a_(a), micro_batches_(micro_batches), rhythm_(rhythm) {
    for (const BlockInstance& i : a.unrolled.instances) at_.emplace(std::tuple(i.pass, i.stage, i.micro_batch), &i);
  }

  // The time by which the passes of a kind come after those of a period before; nullopt: not one time.
  std::optional<double> shift_of(Pass pass, int period) const {
    std::optional<double> shift;
    const int end = micro_batches_ - rhythm_.depth - period, first = end - rhythm_.depth - period;
    for (int stage = 0; stage < a_.plan.stages; ++stage)
      for (int m = first; m < end; ++m)
        if (!agrees(*at_.at({pass, stage, m}), *at_.at({pass, stage, m + period}), shift)) return std::nullopt;
    return shift;
  }

 private:
  bool agrees(const BlockInstance& one, const BlockInstance& later, std::optional<double>& shift) const {
    const std::vector<Entry>& entries = a_.unrolled.blocks[one.block].entries;
    if (one.block != later.block) return false;
    for (std::size_t i = 0; i < entries.size(); ++i)
      for (const std::vector<base::Seconds>* times : {&a_.timeline.start, &a_.timeline.end}) {
        const double by = ((*times)[later.first + i] - (*times)[one.first + i]).value();
        const bool is_launch = std::holds_alternative<HostLaunch>(entries[i].work);
        if (!shift && is_launch) continue;  // kernels and transfers come first in saying how long a period is
        if (!shift) shift = by;
        const double late = by - *shift;
        if (late > kPeriodRounding * *shift || (!is_launch && late < -kPeriodRounding * *shift)) return false;
      }
    return true;
  }

  const Accounts& a_;
  int micro_batches_;
  const Rhythm& rhythm_;
  std::map<std::tuple<Pass, int, int>, const BlockInstance*> at_;
};

}  // namespace

Rhythm rhythm_of(const pcg::Plan& plan) {
  const int pipeline = plan.stages / plan.chunks;
  // Where passes are merged, a rank warms up with two passes for each rank behind it, and one more.
  if (plan.chunks == 1 && schedule_of(plan, plan.micro_batches).merges) return {1, 2 * pipeline, 2 * pipeline};
  // An interleaved schedule goes through `pipeline` micro-batches of a chunk before it comes to the next, and warms up for less than two
  // such rounds (sim/schedules/schedule.hpp).
  return plan.chunks == 1 ? Rhythm{1, pipeline, pipeline} : Rhythm{pipeline, 2 * pipeline, 2 * pipeline};
}

std::optional<int> period_of(const Accounts& a, int micro_batches, const Rhythm& rhythm) {
  const Comparison comparison(a, micro_batches, rhythm);
  for (int period = rhythm.unit; period <= rhythm.most; period += rhythm.unit) {
    const std::optional<double> forward = comparison.shift_of(Pass::forward, period),
                                backward = comparison.shift_of(Pass::backward, period);
    if (!forward || !backward) continue;
    if (a.plan.schedule == pcg::ScheduleKind::gpipe || std::abs(*forward - *backward) <= kPeriodRounding * *forward) return period;
  }
  return std::nullopt;
}

}  // namespace sim
