#pragma once
// One simulated iteration with all that it was made of: what the accounts of this folder look at.

#include <cstddef>

#include "pcg/plan/plan.hpp"
#include "sim/unrolling/unroll.hpp"

namespace sim {

struct Accounts {
  const pcg::Plan& plan;
  const topology::Cluster& cluster;
  const Program& program;
  const Traffic& traffic;
  const Folded& folded;
  const Unrolled& unrolled;
  const Timeline& timeline;
};

struct Interval {
  base::Seconds begin, end;
};

// Calls visit(entry, when it ran, the instance of its block) for every task, in the order of their numbers.
template <class Visit>
void for_each_task(const Accounts& a, Visit visit) {
  for (const BlockInstance& instance : a.unrolled.instances) {
    const auto& entries = a.unrolled.blocks[instance.block].entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t task = instance.first + i;
      visit(entries[i], Interval{a.timeline.start[task], a.timeline.end[task]}, instance);
    }
  }
}

}  // namespace sim
