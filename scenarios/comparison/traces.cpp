#include <fmt/core.h>

#include <map>
#include <set>

#include "base/diagnostics.hpp"
#include "profiles/imports/import.hpp"
#include "scenarios/comparison/comparison.hpp"

namespace comparison {
namespace {

std::vector<int> devices_in(const imports::ImportedTrace& trace) {
  std::set<int> devices;
  for (const imports::ImportedKernel& k : trace.kernels) devices.insert(k.device);
  for (const imports::ImportedCollective& c : trace.collectives) devices.insert(c.device);
  if (devices.empty()) devices.insert(0);  // iterations_of says what is missing
  return {devices.begin(), devices.end()};
}

// A step by its number as profilers mark it, else by its place.
std::size_t chosen(const Iterations& found, std::optional<std::size_t> wanted, const std::string& file) {
  if (!wanted) return found.steady();
  for (std::size_t i = 0; i < found.all.size(); ++i)
    if (found.all[i].name.ends_with(fmt::format("#{}", *wanted))) return i;
  if (*wanted >= found.all.size())
    base::refuse("--iteration", fmt::format("{} has {} iterations, from 0", file, found.all.size()),
                 fmt::format("the first is \"{}\"", found.all.front().name));
  return *wanted;
}

std::vector<double> held_out(const Iterations& found, std::size_t chosen) {
  std::vector<double> seconds;
  for (std::size_t i = found.settled; i < found.all.size(); ++i)
    if (i % 2 != chosen % 2) seconds.push_back(found.all[i].end_s - found.all[i].begin_s);
  return seconds;
}

void rename(DeviceTimeline& device, const imports::Names& from, imports::Names& to) {
  std::map<std::uint32_t, std::uint32_t> known;
  for (Activity& a : device.activities) {
    const auto [at, is_new] = known.try_emplace(a.name, 0);
    if (is_new) at->second = to.id(from[a.name]);
    a.name = at->second;
  }
}

void add(const OwnTrace& own, const std::string& file, imports::Names& names, std::vector<MeasuredDevice>& devices) {
  Timeline timeline = timeline_of(own.simulation, Times::exact);
  if (timeline.devices.empty()) base::refuse(file, "has no kernels: the plan of its scenario did not run");
  for (DeviceTimeline& d : timeline.devices) {
    rename(d, timeline.names, names);
    MeasuredDevice& device = devices.emplace_back(MeasuredDevice{.file = file, .rank = d.device});
    device.timeline = std::move(d);
  }
}

}  // namespace

Trace read_trace(const std::filesystem::path& file) {
  if (is_own_trace(file)) return {file.string(), read_own_trace(file)};
  return {file.string(), imports::import_trace(file)};
}

std::vector<MeasuredDevice> devices_of(const std::vector<Trace>& traces, std::optional<std::size_t> iteration, imports::Names& names) {
  std::vector<MeasuredDevice> devices;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (const auto* own = std::get_if<OwnTrace>(&traces[t].content)) {
      if (iteration.value_or(0) > 0)
        base::refuse("--iteration", fmt::format("{} is a forecast's, of one iteration", traces[t].file), "leave it out");
      add(*own, traces[t].file, names, devices);
      continue;
    }
    const auto& trace = std::get<imports::ImportedTrace>(traces[t].content);
    const std::vector<int> inside = devices_in(trace);
    for (const int number : inside) {
      const Iterations found = iterations_of(trace, number);
      const std::size_t place = chosen(found, iteration, traces[t].file);
      const Iteration& one = found.all[place];
      MeasuredDevice& d = devices.emplace_back(
          MeasuredDevice{.file = traces[t].file, .iteration = one.name, .by = found.by, .iterations = found.all.size()});
      d.held_out_s = held_out(found, place);
      // A process of a rank sees its own GPU alone, or numbers it among those of its node.
      d.is_rank_known = trace.rank.has_value() || inside.size() > 1;
      d.rank = static_cast<std::uint32_t>(inside.size() > 1 ? number : trace.rank.value_or(static_cast<int>(t)));
      d.timeline = measured_timeline(trace, number, one);
      rename(d.timeline, trace.names, names);
    }
  }
  return devices;
}

}  // namespace comparison
