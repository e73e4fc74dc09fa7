#include "sim/accounting/playback.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace sim {

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

}  // namespace sim
