#include "sim/accounting/stage_waits.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "pcg/plan/plan.hpp"

namespace sim {
namespace {

// The device classes that an entry needs ready.
std::span<const std::uint32_t> needed_classes(const Entry& e, const Folded& folded) {
  if (const auto* moved = std::get_if<TransferRun>(&e.work)) return folded.transfers[moved->transfer].waits_for;
  if (const auto* run = std::get_if<KernelRun>(&e.work)) return {&run->device_class, 1};
  if (const auto* copy = std::get_if<CopyRun>(&e.work)) return {&copy->device_class, 1};
  return {&std::get<HostLaunch>(e.work).device_class, 1};
}

}  // namespace

StageWaits::StageWaits(const Accounts& a, const Predecessors& predecessors)
    : a_(a), predecessors_(predecessors), rank_(a.folded.sizes.size(), 0) {
  // The update belongs to no stage, so the forward passes say which rank a class is of.
  for_each_task(a, [&](const Entry& e, Interval, const BlockInstance& instance) {
    const auto* run = std::get_if<KernelRun>(&e.work);
    if (run != nullptr && instance.pass == Pass::forward) rank_[run->device_class] = pcg::rank_of(a.plan, instance.stage);
  });
}

bool StageWaits::is_of_rank(const Entry& e, int rank) const {
  return std::ranges::all_of(needed_classes(e, a_.folded), [&](std::uint32_t c) { return rank_[c] == rank; });
}

double StageWaits::until(std::uint32_t task, double since, std::uint32_t device_class) const {
  while (a_.timeline.start[task].value() > since) {
    const std::optional<std::uint32_t> before = predecessors_.last_waited_for(task);
    if (!before) return since;
    if (!is_of_rank(predecessors_.entry(*before), rank_[device_class])) return a_.timeline.start[task].value();
    task = *before;
  }
  return since;
}

}  // namespace sim
