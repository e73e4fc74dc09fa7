#include "scenarios/comparison/comparison.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/diagnostics.hpp"
#include "profiles/device_profile.hpp"

namespace comparison {
namespace {

// The simulated device that does what a GPU of the plan does.
const DeviceTimeline& device_for(const Timeline& forecast, const sim::SimulationResult& simulation, const MeasuredDevice& measured) {
  for (const std::vector<std::uint32_t>& same : simulation.stands_for)
    if (std::ranges::find(same, measured.rank) != same.end())
      for (const DeviceTimeline& d : forecast.devices)
        if (d.device == same.front()) return d;
  base::refuse(measured.file,
               fmt::format("is of rank {}, which the plan does not have: it uses {} GPUs", measured.rank, simulation.devices),
               "describe the cluster that the trace is of, or give the traces of the plan's ranks alone");
}

// "layer *.mlp.up" of "layer 3.mlp.up": the same operator in every layer.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (!digit) text += name[i];
    else if (text.empty() || text.back() != '*') text += '*';
  }
  return text;
}

class Comparer {
 public:
  Comparer(Comparison& result, bool pipelined) : result_(result), pipelined_(pipelined) {}

  void add(const MeasuredDevice& measured, const DeviceTimeline& predicted) {
    const Alignment alignment = align(measured.timeline, predicted);
    add(parts_of(measured.timeline, pipelined_), &Row::measured);
    add(parts_of(predicted, pipelined_), &Row::predicted);
    result_.measured_s += measured.timeline.seconds();
    result_.predicted_s += predicted.seconds();
    for (const Activity& a : predicted.activities)
      if (a.work == Work::kernel) operators_[of_operator(a)].second += a.duration_s;
    for (std::size_t i = 0; i < measured.timeline.activities.size(); ++i) {
      const Activity& a = measured.timeline.activities[i];
      busy_s_ += a.duration_s;
      if (alignment.counterpart[i] == Alignment::kNone) {
        UnalignedRow& row = unaligned_[{a.name, text_of(a.pass), alignment.why[i]}];
        row.kind = a.kind;
        row.seconds += a.duration_s;
        row.count += 1;
        continue;
      }
      aligned_s_ += a.duration_s;
      if (a.work == Work::kernel) operators_[of_operator(predicted.activities[alignment.counterpart[i]])].first += a.duration_s;
    }
    result_.predicted.push_back(predicted);
    result_.alignments.push_back(alignment);
  }

  // Sums over devices become means, in order.
  void finish() {
    const auto n = static_cast<double>(result_.devices.size());
    result_.measured_s /= n;
    result_.predicted_s /= n;
    result_.aligned_share = busy_s_ > 0 ? aligned_s_ / busy_s_ : 0;
    for (const auto& [rows, list] : {std::pair(&parts_, &result_.parts), std::pair(&transfers_, &result_.transfers)})
      for (const auto& [key, row] : *rows) list->push_back({key, over(row.measured, n), over(row.predicted, n)});
    for (const auto& [key, seconds] : operators_)
      result_.operators.push_back({key.first, key.second, seconds.first / n, seconds.second / n});
    for (auto& [key, row] : unaligned_)
      result_.unaligned.push_back({result_.measured_names[std::get<0>(key)], std::get<1>(key), row.kind, std::get<2>(key), row.seconds / n,
                                   row.seconds / busy_s_, row.count / n});
    const auto largest = [](const auto& a, const auto& b) { return std::abs(a.difference()) > std::abs(b.difference()); };
    std::ranges::stable_sort(result_.parts, largest);
    std::ranges::stable_sort(result_.transfers, largest);
    std::ranges::stable_sort(result_.operators, largest);
    std::ranges::stable_sort(result_.unaligned, std::greater{}, &UnalignedRow::seconds);
  }

 private:
  struct Row {
    PartTime measured, predicted;
  };
  // Of transfers that are exposed together no one is the cause, so they are one part of a pass.
  void add(const Parts& parts, PartTime Row::*side) {
    for (const auto& [key, part] : parts) {
      const bool exposed = key.share == Share::exposed;
      add(part, parts_[exposed ? PartKey{key.share, key.pass, "transfers"} : key].*side);
      if (exposed) add(part, transfers_[key].*side);
    }
  }
  static void add(const PartTime& part, PartTime& sum) {
    sum = {sum.seconds + part.seconds, sum.busy_s + part.busy_s, sum.count + part.count};
  }
  static PartTime over(const PartTime& p, double n) { return {p.seconds / n, p.busy_s / n, p.count / n}; }
  [[nodiscard]] std::pair<std::string, std::string_view> of_operator(const Activity& a) const {
    return {without_numbers(result_.predicted_names[a.name]), text_of(a.pass)};
  }

  Comparison& result_;
  bool pipelined_;
  double busy_s_ = 0, aligned_s_ = 0;
  std::map<PartKey, Row> parts_, transfers_;
  std::map<std::pair<std::string, std::string_view>, std::pair<double, double>> operators_;  // measured, predicted
  std::map<std::tuple<std::uint32_t, std::string_view, std::string_view>, UnalignedRow> unaligned_;
};

std::optional<MemoryPeaks> peaks_of(const Comparison& c) {
  const auto peak = [](const DeviceTimeline& d) {
    base::Bytes most(0);
    for (const sim::MemorySample& m : d.memory) most = std::max(most, m.used);
    return base::Bytes(std::round(most.value()));  // as traces have it
  };
  MemoryPeaks peaks;
  for (const MeasuredDevice& d : c.devices) peaks.measured = std::max(peaks.measured, peak(d.timeline));
  for (const DeviceTimeline& d : c.predicted) peaks.predicted = std::max(peaks.predicted, peak(d));
  return peaks.measured.value() > 0 ? std::optional(peaks) : std::nullopt;
}

bool is_foreign(const std::vector<Trace>& traces) {
  return std::ranges::any_of(traces, [](const Trace& t) { return std::holds_alternative<imports::ImportedTrace>(t.content); });
}

// A framework's allocator knows nothing of what a GPU holds for its context and the buffers of libraries.
void leave_out_context(const topology::Cluster& cluster, std::vector<DeviceTimeline>& predicted) {
  for (DeviceTimeline& d : predicted)
    for (sim::MemorySample& m : d.memory) m.used -= profiles::device_profile(cluster.devices()[d.device].type).reserved;
}

void add_notes(const std::vector<Trace>& traces, const scenarios::Run& run, Comparison& c) {
  const bool foreign = is_foreign(traces);
  const auto transfers = [](const MeasuredDevice& d) {
    return std::ranges::any_of(d.timeline.activities, [](const Activity& a) { return a.work == Work::transfer; });
  };
  if (foreign && std::ranges::any_of(c.devices, transfers))
    c.notes.emplace_back("a transfer's time in a trace includes waiting for the slowest rank, which a forecast has as bubble or waiting");
  if (foreign) c.notes.emplace_back("a profiler takes the host's time: launches may take longer in the trace than without it");
  if (std::ranges::any_of(c.devices, [](const MeasuredDevice& d) { return d.by == FoundBy::whole; }))
    c.notes.emplace_back("no iterations were found, so the whole trace counts as one: mark them, e.g. by the profiler's step()");
  if (std::ranges::any_of(c.devices, [](const MeasuredDevice& d) { return !d.is_rank_known; }))
    c.notes.emplace_back("the trace does not say of which rank it is: traces count as the first ranks, in the order given");
  if (const double whole_s = run.simulation->iteration_time.value(); std::abs(whole_s / c.predicted_s - 1) > 1e-6)
    c.notes.push_back(fmt::format("the forecast is {} for an iteration among many, and {} for one alone, which is compared",
                                  base::to_text(base::Seconds(whole_s)), base::to_text(base::Seconds(c.predicted_s))));
  for (const Trace& t : traces)
    if (const auto* imported = std::get_if<imports::ImportedTrace>(&t.content))
      for (const std::string& note : imported->notes) c.notes.push_back(fmt::format("{}: {}", t.file, note));
}

void hold_out(Comparison& c) {
  c.holds_out_devices = std::ranges::any_of(c.devices, [](const MeasuredDevice& d) { return d.held_out_s.empty(); });
  std::map<std::uint32_t, std::size_t> alike;
  for (std::size_t d = 0; d < c.devices.size(); ++d) {
    if (!c.holds_out_devices)
      for (const double s : c.devices[d].held_out_s) c.held_out.push_back({d, s});
    else if (alike[c.predicted[d].device]++ % 2 == 1) c.held_out.push_back({d, c.devices[d].timeline.seconds()});
  }
}

}  // namespace

Comparison compare(const scenarios::Scenario& scenario, const scenarios::Run& run, const std::vector<Trace>& traces,
                   std::optional<std::size_t> iteration) {
  const sim::SimulationResult& simulation = *run.simulation;
  Comparison c{.scenario = scenario.name, .plan = run.plan, .summary = run.plan_summary};
  c.low_s = run.interval_low.value();
  c.high_s = run.interval_high.value();
  c.devices = devices_of(traces, iteration, c.measured_names);
  Timeline forecast = timeline_of(simulation, Times::as_written);
  c.predicted_names = std::move(forecast.names);
  Comparer comparer(c, simulation.stages.size() > 1);
  for (const MeasuredDevice& d : c.devices) comparer.add(d, device_for(forecast, simulation, d));
  comparer.finish();
  hold_out(c);
  if (is_foreign(traces)) leave_out_context(*scenario.base().cluster, c.predicted);
  c.memory = peaks_of(c);
  add_notes(traces, run, c);
  return c;
}

}  // namespace comparison
