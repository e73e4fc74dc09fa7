#include "sim/accounting/stage_waits.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "pcg/plan/ranks.hpp"

namespace sim {
namespace {

constexpr std::uint32_t kNoTask = 0xffffffff;

// The device classes that an entry needs ready.
std::span<const std::uint32_t> needed_classes(const Entry& e, const Folded& folded) {
  if (const auto* moved = std::get_if<TransferRun>(&e.work)) return folded.transfers[moved->transfer].waits_for;
  if (const auto* run = std::get_if<KernelRun>(&e.work)) return {&run->device_class, 1};
  if (const auto* copy = std::get_if<CopyRun>(&e.work)) return {&copy->device_class, 1};
  return {&std::get<HostLaunch>(e.work).device_class, 1};
}

}  // namespace

StageWaits::StageWaits(const Accounts& a) : a_(a), rank_(a.folded.sizes.size(), 0) {
  // The update belongs to no stage, so the forward passes say which rank a class is of.
  for_each_task(a, [&](const Entry& e, Interval, const BlockInstance& instance) {
    const auto* run = std::get_if<KernelRun>(&e.work);
    if (run != nullptr && instance.pass == Pass::forward) rank_[run->device_class] = pcg::rank_of(a.plan, instance.stage);
  });
  const TaskGraph& g = a.unrolled.graph;
  std::vector<std::uint32_t> last(g.streams.size(), kNoTask);
  stream_before_.resize(g.task_streams.size());
  for (std::uint32_t n = 0; n < g.tasks.size(); ++n) {
    const std::uint32_t t = g.ordered(n);
    for (std::uint32_t s = g.tasks[t].streams_begin; s < g.tasks[t].streams_end; ++s)
      stream_before_[s] = std::exchange(last[g.task_streams[s]], t);
  }
}

const Entry& StageWaits::entry(std::uint32_t task) const {
  const auto& instances = a_.unrolled.instances;
  // The last instance that begins at the task or before it; one without entries begins where the next does.
  const auto after = std::ranges::upper_bound(instances, task, {}, &BlockInstance::first);
  const BlockInstance& instance = *std::prev(after);
  return a_.unrolled.blocks[instance.block].entries[task - instance.first];
}

bool StageWaits::is_of_rank(const Entry& e, int rank) const {
  return std::ranges::all_of(needed_classes(e, a_.folded), [&](std::uint32_t c) { return rank_[c] == rank; });
}

std::optional<std::uint32_t> StageWaits::last_waited_for(std::uint32_t task) const {
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

double StageWaits::until(std::uint32_t task, double since, std::uint32_t device_class) const {
  while (a_.timeline.start[task].value() > since) {
    const std::optional<std::uint32_t> before = last_waited_for(task);
    if (!before) return since;
    if (!is_of_rank(entry(*before), rank_[device_class])) return a_.timeline.start[task].value();
    task = *before;
  }
  return since;
}

}  // namespace sim
