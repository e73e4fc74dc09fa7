#include "sim/accounting/breakdown.hpp"

#include <algorithm>

namespace sim {
namespace {

struct Stretch {
  double begin = 0, end = 0;
};

struct Run : Stretch {
  bool waited_for_launch = false;
};

struct DeviceActivity {
  std::vector<Run> runs;           // of the compute stream, in order
  std::vector<Stretch> transfers;  // that it waits for: collectives it is in, messages that it receives or is held by
};

// Whether a run's launch was the last thing that it waited for.
bool waited_for_launch(const Accounts& a, const Entry& run, const BlockInstance& instance, double begin) {
  const auto& entries = a.unrolled.blocks[instance.block].entries;
  return std::ranges::any_of(run.after, [&](std::uint32_t e) {
    return std::holds_alternative<HostLaunch>(entries[e].work) && a.timeline.end[instance.first + e].value() >= begin;
  });
}

// The device classes that do the work of an entry, or have its data afterwards.
std::vector<std::uint32_t> busy_classes(const Entry& e, const Folded& folded) {
  if (const auto* moved = std::get_if<TransferRun>(&e.work)) return folded.transfers[moved->transfer].delivers_to;
  if (const auto* run = std::get_if<KernelRun>(&e.work)) return {run->device_class};
  return {std::get<HostLaunch>(e.work).device_class};
}

std::uint32_t critical_class(const Accounts& a) {
  std::vector<double> last(a.folded.sizes.size(), 0);
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance&) {
    for (std::uint32_t c : busy_classes(e, a.folded)) last[c] = std::max(last[c], when.end.value());
  });
  std::uint32_t critical = 0;
  for (std::uint32_t c = 1; c < last.size(); ++c) {
    if (last[c] > last[critical] || (last[c] == last[critical] && a.folded.representatives[c] < a.folded.representatives[critical]))
      critical = c;
  }
  return critical;
}

DeviceActivity activity_of(const Accounts& a, std::uint32_t device_class) {
  DeviceActivity out;
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance& instance) {
    if (const auto* run = std::get_if<KernelRun>(&e.work)) {
      if (run->device_class == device_class)
        out.runs.push_back({{when.begin.value(), when.end.value()}, waited_for_launch(a, e, instance, when.begin.value())});
    } else if (const auto* moved = std::get_if<TransferRun>(&e.work)) {
      const bool arrives = std::ranges::binary_search(a.folded.transfers[moved->transfer].delivers_to, device_class);
      const bool holds_up = std::ranges::find(e.streams, StreamId{device_class, StreamKind::compute}) != e.streams.end();
      if (arrives || holds_up) out.transfers.push_back({when.begin.value(), when.end.value()});
    }
  });
  const auto by_begin = [](const Stretch& x, const Stretch& y) { return std::pair(x.begin, x.end) < std::pair(y.begin, y.end); };
  std::ranges::sort(out.runs, by_begin);
  std::ranges::sort(out.transfers, by_begin);
  // Transfers overlap each other; a gap is covered by them once.
  std::vector<Stretch> merged;
  for (const Stretch& t : out.transfers) {
    if (!merged.empty() && t.begin <= merged.back().end) merged.back().end = std::max(merged.back().end, t.end);
    else merged.push_back(t);
  }
  out.transfers = std::move(merged);
  return out;
}

}  // namespace

Breakdown break_down(const Accounts& a) {
  if (a.folded.sizes.empty()) return {};
  const DeviceActivity activity = activity_of(a, critical_class(a));
  double compute = 0, exposed = 0, bubble = 0, idle = 0;
  // Without other stages there is nothing to wait for but the host, and partners of a collective that are not ready.
  const bool pipelined = a.plan.stages > a.plan.chunks;
  std::size_t next = 0;  // first transfer interval that may still overlap a gap
  const auto gap = [&](double begin, double end, bool for_launch) {
    if (end <= begin) return;
    while (next < activity.transfers.size() && activity.transfers[next].end <= begin) ++next;
    double covered = 0;
    for (std::size_t t = next; t < activity.transfers.size() && activity.transfers[t].begin < end; ++t) {
      covered += std::min(end, activity.transfers[t].end) - std::max(begin, activity.transfers[t].begin);
    }
    exposed += covered;
    (pipelined && !for_launch ? bubble : idle) += end - begin - covered;
  };
  double now = 0;
  for (const Run& run : activity.runs) {
    gap(now, run.begin, run.waited_for_launch);
    compute += run.end - run.begin;
    now = std::max(now, run.end);
  }
  gap(now, a.timeline.makespan.value(), false);
  return {base::Seconds(compute), base::Seconds(exposed), base::Seconds(bubble), base::Seconds(idle)};
}

}  // namespace sim
