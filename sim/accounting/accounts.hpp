#pragma once
// One simulated iteration with all that it was made of: the input of the accounts of this folder.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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

class Predecessors {
 public:
  // The accounts, and what they refer to, outlive the object.
  // Cost: O(tasks + their streams).
  explicit Predecessors(const Accounts& a);

  // The instance of a block that a task is of.
  // Cost: O(log instances).
  [[nodiscard]] const BlockInstance& instance(std::uint32_t task) const;
  [[nodiscard]] const Entry& entry(std::uint32_t task) const;
  // The task whose end let this one start: one that it depends on, or the one before it on a stream. nullopt: it started with the
  // iteration.
  // Cost: O(dependencies and streams of the task).
  [[nodiscard]] std::optional<std::uint32_t> last_waited_for(std::uint32_t task) const;

 private:
  static constexpr std::uint32_t kNoTask = 0xffffffff;
  const Accounts& a_;
  std::vector<std::uint32_t> stream_before_;  // as TaskGraph::task_streams: the task before on that stream, or kNoTask
};

}  // namespace sim
