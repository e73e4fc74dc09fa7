#include "sim/accounting/account.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace sim {
namespace {

// More rows than a page has are no summary.
constexpr std::size_t kMostParts = 24;
// Sums of thousands of doubles are off by less than this share of the whole.
constexpr double kPathRounding = 1e-9;

class Summary {
 public:
  explicit Summary(const Accounts& a) : a_(a) {
    for (std::uint32_t c = 0; c < a.folded.representatives.size(); ++c) {
      const auto kind = topology::kind_of(a.cluster.devices()[a.folded.representatives[c].value]);
      device_type_.push_back(static_cast<std::uint32_t>(std::ranges::find(a.program.device_types, kind) - a.program.device_types.begin()));
    }
  }

  // An entry was on the path for so long, all its tasks together.
  void add(const Entry& e, double seconds) {
    std::visit([&](const auto& work) { add_work(work, seconds); }, e.work);
  }
  void add(OnPath what, double seconds) { times_[std::move(what)] += base::Seconds(seconds); }
  [[nodiscard]] PathTimes take() && { return std::move(times_); }

 private:
  // Each kernel has its share: what slows a run down slows all of it.
  void add_work(const KernelRun& run, double seconds) {
    const double stretch = run.seconds.value() > 0 ? seconds / run.seconds.value() : 0;
    for (const Part& p : run.parts) {
      const double own = a_.program.seconds[p.seconds + device_type_[run.device_class]] * stretch;
      if (own > 0) add({PathKind::operation, fmt::format("{} {}", kind_of(p.node), p.what), ""}, own);
    }
  }
  void add_work(const HostLaunch&, double seconds) { add({PathKind::host, "launch", ""}, seconds); }
  void add_work(const TransferRun& moved, double seconds) {
    const TransferClass& t = a_.folded.transfers[moved.transfer];
    add({t.kind == CollectiveKind::send ? PathKind::transfer : PathKind::collective, fmt::format("{} ({})", to_text(t.kind), moved.what),
         std::string(link_of(moved.transfer))},
        seconds);
  }
  void add_work(const CopyRun& copy, double seconds) {
    if (copy.stream == StreamKind::host_update) return add({PathKind::host, fmt::format("{} on the host", copy.what), ""}, seconds);
    add({PathKind::transfer, fmt::format("{} {} the host", copy.what, copy.stream == StreamKind::to_host ? "to" : "from"), "host"},
        seconds);
  }
  // Passes of a block that differ run the same transfers.
  std::string_view link_of(std::uint32_t transfer) {
    const auto [at, is_new] = links_.try_emplace(transfer);
    if (is_new) at->second = narrowest_link(a_, a_.folded.transfers[transfer]);
    return at->second;
  }
  [[nodiscard]] std::string_view kind_of(std::uint32_t node) const {
    const pcg::PcgNode& n = a_.plan.pcg.nodes()[node];
    return n.operation() != nullptr ? pcg::kind_name(*n.operation()) : std::string_view(n.name);
  }

  const Accounts& a_;
  std::vector<std::uint32_t> device_type_;           // per class of devices: index into Program::device_types
  std::map<std::uint32_t, std::string_view> links_;  // by class of transfers
  PathTimes times_;
};

}  // namespace

std::vector<std::uint32_t> critical_tasks(const Accounts& a, const Predecessors& predecessors) {
  std::vector<std::uint32_t> path;
  if (a.timeline.end.empty()) return path;
  std::optional<std::uint32_t> task = static_cast<std::uint32_t>(std::ranges::max_element(a.timeline.end) - a.timeline.end.begin());
  for (; task; task = predecessors.last_waited_for(*task)) path.push_back(*task);
  std::ranges::reverse(path);
  return path;
}

PathTimes critical_path(const Accounts& a, const Predecessors& predecessors) {
  // Most tasks of a path are copies of a few entries: their times are summed up before they are named.
  std::vector<std::vector<double>> seconds(a.unrolled.blocks.size());
  for (std::size_t b = 0; b < seconds.size(); ++b) seconds[b].assign(a.unrolled.blocks[b].entries.size(), 0);
  const std::vector<std::uint32_t> path = critical_tasks(a, predecessors);
  for (const std::uint32_t task : path) {
    const BlockInstance& instance = predecessors.instance(task);
    seconds[instance.block][task - instance.first] += (a.timeline.end[task] - a.timeline.start[task]).value();
  }
  Summary summary(a);
  for (std::size_t b = 0; b < seconds.size(); ++b)
    for (std::size_t e = 0; e < seconds[b].size(); ++e)
      if (seconds[b][e] > 0) summary.add(a.unrolled.blocks[b].entries[e], seconds[b][e]);
  if (!path.empty() && a.timeline.start[path.front()].value() > 0)
    summary.add({PathKind::wait, "wait", ""}, a.timeline.start[path.front()].value());
  return std::move(summary).take();
}

PathTimes path_of_sums(PathTimes sums, const PathTimes& simulated, base::Seconds all) {
  const bool one_way = std::ranges::all_of(sums, [&](const auto& part) { return part.second.value() >= -kPathRounding * all.value(); });
  if (!one_way) {
    base::Seconds total;
    for (const auto& [what, time] : simulated) total += time;
    sums = simulated;
    for (auto& [what, time] : sums) time = all * (time / total);
  }
  std::erase_if(sums, [](const auto& part) { return part.second.value() <= 0; });
  return sums;
}

std::vector<PathPart> longest_parts(const PathTimes& path) {
  std::vector<PathPart> parts;
  for (const auto& [what, time] : path) parts.push_back({what, time});
  const auto by_time = [](const PathPart& x, const PathPart& y) { return x.time > y.time; };
  std::ranges::stable_sort(parts, by_time);
  if (parts.size() <= kMostParts) return parts;
  PathTimes others;
  for (std::size_t i = kMostParts; i < parts.size(); ++i) others[{parts[i].what.kind, kOtherParts, ""}] += parts[i].time;
  parts.resize(kMostParts);
  for (const auto& [what, time] : others) parts.push_back({what, time});
  std::ranges::stable_sort(parts, by_time);
  return parts;
}

}  // namespace sim
