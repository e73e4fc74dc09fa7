#include "sim/accounting/accounts.hpp"

#include <algorithm>
#include <utility>

namespace sim {

Predecessors::Predecessors(const Accounts& a) : a_(a) {
  const TaskGraph& g = a.unrolled.graph;
  std::vector<std::uint32_t> last(g.streams.size(), kNoTask);
  stream_before_.resize(g.task_streams.size());
  for (std::uint32_t n = 0; n < g.tasks.size(); ++n) {
    const std::uint32_t t = g.ordered(n);
    for (std::uint32_t s = g.tasks[t].streams_begin; s < g.tasks[t].streams_end; ++s)
      stream_before_[s] = std::exchange(last[g.task_streams[s]], t);
  }
}

const BlockInstance& Predecessors::instance(std::uint32_t task) const {
  const auto& instances = a_.unrolled.instances;
  // The last instance that begins at the task or before it; one without entries begins where the next does.
  return *std::prev(std::ranges::upper_bound(instances, task, {}, &BlockInstance::first));
}

const Entry& Predecessors::entry(std::uint32_t task) const {
  const BlockInstance& of = instance(task);
  return a_.unrolled.blocks[of.block].entries[task - of.first];
}

std::optional<std::uint32_t> Predecessors::last_waited_for(std::uint32_t task) const {
  const TaskGraph& g = a_.unrolled.graph;
  const Task& t = g.tasks[task];
  // The engine starts a task at the very moment when the last that it waits for ends.
  const auto ended_then = [&](std::uint32_t other) { return a_.timeline.end[other] == a_.timeline.start[task]; };
  for (std::uint32_t d = t.dependencies_begin; d < t.dependencies_end; ++d)
    if (ended_then(g.task_dependencies[d])) return g.task_dependencies[d];
  for (std::uint32_t s = t.streams_begin; s < t.streams_end; ++s)
    if (stream_before_[s] != kNoTask && ended_then(stream_before_[s])) return stream_before_[s];
  return std::nullopt;
}

}  // namespace sim
