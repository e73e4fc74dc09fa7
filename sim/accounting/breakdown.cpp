#include "sim/accounting/account.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "pcg/plan/plan.hpp"

namespace sim {
namespace {

// The pipeline rank of each device class. The update belongs to no stage, so the forward passes say which.
std::vector<int> ranks_of_classes(const Accounts& a) {
  std::vector<int> rank(a.folded.sizes.size(), 0);
  for_each_task(a, [&](const Entry& e, Interval, const BlockInstance& instance) {
    const auto* run = std::get_if<KernelRun>(&e.work);
    if (run != nullptr && instance.pass == Pass::forward) rank[run->device_class] = pcg::rank_of(a.plan, instance.stage);
  });
  return rank;
}

// The device class that does the work of an entry; of a transfer those that it waits for, or delivers to.
std::span<const std::uint32_t> concerned_classes(const Entry& e, const Folded& folded,
                                                 std::vector<std::uint32_t> TransferClass::*of_transfer) {
  if (const auto* moved = std::get_if<TransferRun>(&e.work)) return folded.transfers[moved->transfer].*of_transfer;
  if (const auto* run = std::get_if<KernelRun>(&e.work)) return {&run->device_class, 1};
  if (const auto* copy = std::get_if<CopyRun>(&e.work)) return {&copy->device_class, 1};
  return {&std::get<HostLaunch>(e.work).device_class, 1};
}

// Why a device had nothing to run: it waited for another stage of the pipeline, or for its own host and the devices of its stage.
class StageWaits {
 public:
  // `rank`: ranks_of_classes. The predecessors, and what the accounts refer to, outlive the object.
  StageWaits(const Accounts& a, const Predecessors& predecessors, std::vector<int> rank)
      : a_(a), predecessors_(predecessors), rank_(std::move(rank)) {}

  // A task of a device class could have started at `since` and did not. Its waiting is followed backwards, each task to the one that it
  // waited for last, as long as they are of the class's own pipeline rank.
  // Returns: the moment up to which the task waited for what another rank did; `since` where it waited for none. What is left until it
  // started, its own hosts and devices needed.
  // Cost: O(log tasks) for each task on the way, and their dependencies.
  [[nodiscard]] double until(std::uint32_t task, double since, std::uint32_t device_class) const {
    while (a_.timeline.start[task].value() > since) {
      const std::optional<std::uint32_t> before = predecessors_.last_waited_for(task);
      if (!before) return since;
      if (!is_of_rank(predecessors_.entry(*before), rank_[device_class])) return a_.timeline.start[task].value();
      task = *before;
    }
    return since;
  }

 private:
  [[nodiscard]] bool is_of_rank(const Entry& e, int rank) const {
    return std::ranges::all_of(concerned_classes(e, a_.folded, &TransferClass::waits_for),
                               [&](std::uint32_t c) { return rank_[c] == rank; });
  }

  const Accounts& a_;
  const Predecessors& predecessors_;
  std::vector<int> rank_;  // of the pipeline, per device class
};

struct Stretch {
  double begin = 0, end = 0;
};

struct Run : Stretch {
  std::uint32_t task = 0;
};

struct Moving : Stretch {
  std::uint32_t transfer = 0;  // its class, or kCopy
};
constexpr std::uint32_t kCopy = 0xffffffff;  // to the device's host, or from there

struct DeviceActivity {
  std::vector<Run> runs;  // of the compute stream, in order
  // That it waits for: collectives it is in, messages that it receives or is held by, copies to and from its host; apart, in order.
  std::vector<Moving> transfers;
};

std::uint32_t critical_class(const Accounts& a) {
  std::vector<double> last(a.folded.sizes.size(), 0);
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance&) {
    for (std::uint32_t c : concerned_classes(e, a.folded, &TransferClass::delivers_to)) last[c] = std::max(last[c], when.end.value());
  });
  std::uint32_t critical = 0;
  for (std::uint32_t c = 1; c < last.size(); ++c) {
    if (last[c] > last[critical] || (last[c] == last[critical] && a.folded.representatives[c] < a.folded.representatives[critical]))
      critical = c;
  }
  return critical;
}

// Of each rank the class that computes longest; ranks ascend.
std::vector<std::uint32_t> busiest_classes(const Accounts& a, const std::vector<int>& rank) {
  std::vector<double> compute_s(rank.size(), 0);
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance&) {
    if (const auto* run = std::get_if<KernelRun>(&e.work)) compute_s[run->device_class] += (when.end - when.begin).value();
  });
  std::map<int, std::uint32_t> busiest;
  const auto order = [&](std::uint32_t c) { return std::pair(-compute_s[c], a.folded.representatives[c]); };
  for (std::uint32_t c = 0; c < rank.size(); ++c)
    if (const auto [at, is_new] = busiest.try_emplace(rank[c], c); !is_new && order(c) < order(at->second)) at->second = c;
  std::vector<std::uint32_t> classes;
  for (const auto& [r, c] : busiest) classes.push_back(c);
  return classes;
}

// Transfers overlap each other; a gap is covered by them once, by the first of those that are under way.
void make_apart(std::vector<Moving>& transfers) {
  std::ranges::sort(transfers, {}, [](const Moving& m) { return std::tuple(m.begin, m.end, m.transfer); });
  std::vector<Moving> apart;
  for (Moving t : transfers) {
    if (!apart.empty()) t.begin = std::max(t.begin, apart.back().end);
    if (t.begin < t.end) apart.push_back(t);
  }
  transfers = std::move(apart);
}

// One for each of the classes.
std::vector<DeviceActivity> activities_of(const Accounts& a, std::span<const std::uint32_t> classes) {
  std::vector<DeviceActivity> out(classes.size());
  std::vector<DeviceActivity*> of_class(a.folded.sizes.size(), nullptr);
  for (std::size_t i = 0; i < classes.size(); ++i) of_class[classes[i]] = &out[i];
  std::uint32_t task = 0;
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance&) {
    const Stretch stretch{when.begin.value(), when.end.value()};
    if (const auto* run = std::get_if<KernelRun>(&e.work)) {
      if (DeviceActivity* d = of_class[run->device_class]) d->runs.push_back({stretch, task});
    } else if (const auto* moved = std::get_if<TransferRun>(&e.work)) {
      const std::vector<std::uint32_t>& delivers_to = a.folded.transfers[moved->transfer].delivers_to;
      const auto add = [&](std::uint32_t c) {
        if (of_class[c] != nullptr) of_class[c]->transfers.push_back({stretch, moved->transfer});
      };
      std::ranges::for_each(delivers_to, add);
      for (const StreamId& held_up : e.streams)
        if (held_up.kind == StreamKind::compute && !std::ranges::binary_search(delivers_to, held_up.device_class))
          add(held_up.device_class);
    } else if (const auto* copy = std::get_if<CopyRun>(&e.work)) {
      if (DeviceActivity* d = of_class[copy->device_class]) d->transfers.push_back({stretch, kCopy});
    }
    ++task;
  });
  for (DeviceActivity& d : out) {
    std::ranges::sort(d.runs, {}, [](const Run& r) { return std::pair(r.begin, r.end); });
    make_apart(d.transfers);
  }
  return out;
}

// The gaps between the runs of one device, met from the first on.
class Gaps {
 public:
  // `stages`: of a pipeline, else nullptr. It outlives the object, and so do the accounts.
  Gaps(const Accounts& a, const StageWaits* stages, std::uint32_t device_class, DeviceActivity activity)
      : a_(a), device_class_(device_class), activity_(std::move(activity)), stages_(stages) {}

  Breakdown run() {
    double now = 0;
    for (const Run& run : activity_.runs) {
      add(now, run.begin, run.task);
      sums_.compute += base::Seconds(run.end - run.begin);
      now = std::max(now, run.end);
    }
    const auto last = std::ranges::max_element(a_.timeline.end) - a_.timeline.end.begin();
    add(now, a_.timeline.makespan.value(), static_cast<std::uint32_t>(last));
    for (const auto& [transfer, seconds] : exposed_) {
      const bool is_copy = transfer == kCopy;
      sums_.exposed_by_collective[is_copy ? "host_copy" : std::string(to_text(a_.folded.transfers[transfer].kind))] += seconds;
      sums_.exposed_by_link[is_copy ? "host" : std::string(narrowest_link(a_, a_.folded.transfers[transfer]))] += seconds;
    }
    return sums_;
  }

 private:
  // A gap that `task` ends.
  void add(double begin, double end, std::uint32_t task) {
    if (end <= begin) return;
    const double for_stage = stages_ != nullptr ? std::min(end, stages_->until(task, begin, device_class_)) : begin;
    sums_.bubble += uncovered(begin, for_stage);
    sums_.idle += uncovered(for_stage, end);
  }
  // The part of an interval in which no transfer is under way; the rest is exposed communication. Intervals ascend.
  base::Seconds uncovered(double begin, double end) {
    const std::vector<Moving>& transfers = activity_.transfers;
    while (next_ < transfers.size() && transfers[next_].end <= begin) ++next_;
    double covered = 0;
    for (std::size_t t = next_; t < transfers.size() && transfers[t].begin < end; ++t) {
      const double own = std::min(end, transfers[t].end) - std::max(begin, transfers[t].begin);
      exposed_[transfers[t].transfer] += base::Seconds(own);
      covered += own;
    }
    sums_.exposed_communication += base::Seconds(covered);
    return base::Seconds(end - begin - covered);
  }

  const Accounts& a_;
  std::uint32_t device_class_;
  DeviceActivity activity_;
  const StageWaits* stages_;
  std::size_t next_ = 0;  // the first transfer that may still overlap a gap
  Breakdown sums_;
  std::map<std::uint32_t, base::Seconds> exposed_;  // by class of transfers, or kCopy
};

}  // namespace

std::vector<Breakdown> break_down(const Accounts& a, const Predecessors& predecessors) {
  if (a.folded.sizes.empty()) return {Breakdown{}};
  std::vector<std::uint32_t> classes{critical_class(a)};
  std::optional<StageWaits> stages;
  if (a.plan.stages > a.plan.chunks) {
    std::vector<int> rank = ranks_of_classes(a);
    classes = busiest_classes(a, rank);
    stages.emplace(a, predecessors, std::move(rank));
  }
  std::vector<DeviceActivity> activities = activities_of(a, classes);
  std::vector<Breakdown> out;
  for (std::size_t i = 0; i < classes.size(); ++i)
    out.push_back(Gaps(a, stages ? &*stages : nullptr, classes[i], std::move(activities[i])).run());
  return out;
}

}  // namespace sim
