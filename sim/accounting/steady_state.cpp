#include "sim/accounting/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {
namespace {

// Times of an iteration are sums of thousands of doubles; what is off by less than this share of a period is rounding.
constexpr double kPeriodRounding = 1e-9;

class Comparison {
 public:
  Comparison(const Accounts& a, int micro_batches, const Rhythm& rhythm) : a_(a), micro_batches_(micro_batches), rhythm_(rhythm) {
    for (const BlockInstance& i : a.unrolled.instances) at_.emplace(std::tuple(i.pass, i.stage, i.micro_batch), &i);
  }

  // The time by which these passes come after those of a period before; nullopt: not one time.
  std::optional<double> shift_of(std::initializer_list<Pass> passes, int period) const {
    std::optional<double> shift;
    const int end = micro_batches_ - rhythm_.depth - period, first = end - rhythm_.depth - period;
    for (const Pass pass : passes)
      for (int stage = 0; stage < a_.plan.stages; ++stage)
        for (int m = first; m < end; ++m)
          if (!agrees({pass, stage, m}, {pass, stage, m + period}, shift)) return std::nullopt;
    return shift;
  }

 private:
  using Key = std::tuple<Pass, int, int>;  // of a stage and a micro-batch
  // A backward pass is whole or in two parts: neither has what the other has.
  bool agrees(const Key& one, const Key& later, std::optional<double>& shift) const {
    const auto a = at_.find(one), b = at_.find(later);
    if (a == at_.end() || b == at_.end()) return a == b;
    const BlockInstance &early = *a->second, &late = *b->second;
    if (early.block != late.block) return false;
    const std::vector<Entry>& entries = a_.unrolled.blocks[early.block].entries;
    for (std::size_t i = 0; i < entries.size(); ++i)
      for (const std::vector<base::Seconds>* times : {&a_.timeline.start, &a_.timeline.end}) {
        const double by = ((*times)[late.first + i] - (*times)[early.first + i]).value();
        const bool is_launch = std::holds_alternative<HostLaunch>(entries[i].work);
        if (!shift && is_launch) continue;  // kernels and transfers come first in saying how long a period is
        if (!shift) shift = by;
        const double off = by - *shift;
        if (off > kPeriodRounding * *shift || (!is_launch && off < -kPeriodRounding * *shift)) return false;
      }
    return true;
  }

  const Accounts& a_;
  int micro_batches_;
  const Rhythm& rhythm_;
  std::map<Key, const BlockInstance*> at_;
};

}  // namespace

Moment moment_of(const Playback& playback, double time_s) {
  Moment m{playback.begin_s + time_s, std::vector<double>(playback.repeats.size(), 0)};
  for (std::size_t r = 0; r < playback.repeats.size(); ++r) {
    const Repeat& repeat = playback.repeats[r];
    const double over = m.at_s - repeat.at - repeat.length;
    if (over < 0) break;
    if (over < repeat.copies * repeat.length) {
      const double whole = std::floor(over / repeat.length);
      m.copies[r] = whole + 1;
      m.at_s = repeat.at + over - whole * repeat.length;
      break;
    }
    m.copies[r] = repeat.copies;
    m.at_s -= repeat.copies * repeat.length;
  }
  return m;
}

double begin_of(const Accounts& a, bool forward, int micro_batch) {
  const BlockInstance* first = nullptr;
  for (const BlockInstance& i : a.unrolled.instances) {
    const bool is_it = i.pass != Pass::update && i.micro_batch == micro_batch && (i.pass == Pass::forward) == forward;
    if (is_it && (first == nullptr || i.stage < first->stage)) first = &i;
  }
  BASE_CHECK(first != nullptr, "micro-batch {} has no such pass", micro_batch);
  const std::vector<Entry>& entries = a.unrolled.blocks[first->block].entries;
  double begin = a.timeline.makespan.value();
  for (std::size_t e = 0; e < entries.size(); ++e)
    if (std::holds_alternative<KernelRun>(entries[e].work)) begin = std::min(begin, a.timeline.start[first->first + e].value());
  return begin;
}

std::optional<Rhythm> rhythm_of(const pcg::Plan& plan) {
  const int ranks = pcg::ranks_of(plan);
  switch (plan.schedule) {
    case pcg::ScheduleKind::gpipe:
    case pcg::ScheduleKind::zero_bubble: return Rhythm{1, ranks, ranks};
    // Where passes are merged, a rank warms up with two passes for each rank after it, and one more.
    case pcg::ScheduleKind::one_f_one_b: {
      const int depth = pcg::merges_passes(plan) ? 2 * ranks : ranks;
      return Rhythm{1, depth, depth};
    }
    // They go through a round of micro-batches of a chunk before they come to the next, and warm up for less than two such rounds.
    case pcg::ScheduleKind::interleaved: return plan.chunks == 1 ? Rhythm{1, ranks, ranks} : Rhythm{ranks, 2 * ranks, 2 * ranks};
    case pcg::ScheduleKind::flexible: {
      const int round = plan.micro_batch_group;
      // Other numbers of micro-batches would change how long rounds are.
      return plan.micro_batches % round == 0 ? std::optional(Rhythm{round, 2 * round, 2 * round}) : std::nullopt;
    }
    // Every chunk waits for all micro-batches; or there is a period already.
    case pcg::ScheduleKind::breadth_first:
    case pcg::ScheduleKind::two_bw: return std::nullopt;
    // A micro-batch turns round at the other end of the pipeline.
    case pcg::ScheduleKind::dual_pipe: return Rhythm{1, 2 * ranks + 1, 2 * ranks};
  }
  return std::nullopt;
}

std::optional<int> period_of(const Accounts& a, int micro_batches, const Rhythm& rhythm) {
  const Comparison comparison(a, micro_batches, rhythm);
  for (int period = rhythm.unit; period <= rhythm.most && rhythm.needed(period) <= micro_batches; period += rhythm.unit) {
    const std::optional<double> forward = comparison.shift_of({Pass::forward}, period),
                                backward = comparison.shift_of({Pass::backward, Pass::inputs, Pass::weights}, period);
    if (!forward || !backward) continue;
    if (a.plan.schedule == pcg::ScheduleKind::gpipe || std::abs(*forward - *backward) <= kPeriodRounding * *forward) return period;
  }
  return std::nullopt;
}

std::vector<Repeat> repeats_of(const Accounts& a, int micro_batches, int period, const Rhythm& rhythm, double copies) {
  // While this micro-batch and those of a period after it go forward, what goes backward is at most `depth` before them: all of them are
  // among those that repeat themselves (Comparison::shift_of).
  const int from = micro_batches - rhythm.depth - 2 * period;
  std::vector<Repeat> repeats;
  for (const bool forward : {true, false}) {
    if (!forward && a.plan.schedule != pcg::ScheduleKind::gpipe) break;
    const double begin = begin_of(a, forward, from);
    repeats.push_back({begin, begin_of(a, forward, from + period) - begin, copies});
  }
  return repeats;
}

}  // namespace sim
