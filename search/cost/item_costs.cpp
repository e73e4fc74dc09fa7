#include "search/cost/replay.hpp"

#include <algorithm>

namespace search {

ItemCosts::ItemCosts(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
                     std::uint32_t pace)
    : program_(program),
      cluster_(cluster),
      movement_s_(movement_s),
      pace_(pace),
      overlap_slowdown_(profiles::device_profile(program.device_types[pace].type).overlap_slowdown) {
  extend();
}

void ItemCosts::extend() {
  for (std::size_t s = types_.size(); s < program_.device_sets.size(); ++s) types_.push_back(types_of(program_.device_sets[s]));
  for (std::size_t m = moved_.size(); m < program_.movements.size(); ++m) moved_.push_back(moved(program_.movements[m]));
}

std::vector<std::uint32_t> ItemCosts::types_of(const std::vector<base::DeviceId>& devices) const {
  // Most clusters have one type: nothing to look for in their devices.
  if (program_.device_types.size() == 1) return {pace_};
  std::vector<bool> there(program_.device_types.size(), false);
  for (const base::DeviceId d : devices) {
    const auto type = std::ranges::find(program_.device_types, topology::kind_of(cluster_.device(d)));
    there[static_cast<std::size_t>(type - program_.device_types.begin())] = true;
  }
  if (there[pace_]) return {pace_};
  std::vector<std::uint32_t> types;
  for (std::uint32_t t = 0; t < there.size(); ++t)
    if (there[t]) types.push_back(t);
  return types;
}

ItemCosts::Moved ItemCosts::moved(const sim::Movement& movement) const {
  Moved m;
  for (const sim::Round& round : movement.rounds) {
    m.launch_s += program_.launch_s(round.front(), pace_);
    m.is_collective = m.is_collective || round.front().kind != sim::CollectiveKind::send;
  }
  return m;
}

double ItemCosts::seconds(const sim::Copy& copy) const {
  double most = 0;
  for (const std::uint32_t type : types_[copy.devices.value]) most = std::max(most, program_.seconds[copy.seconds + type]);
  return most;
}

double ItemCosts::at_pace(const std::vector<double>& seconds, const sim::Compute& kernels) const {
  double most = 0;
  for (const std::uint32_t type : types_[kernels.devices.value]) {
    double sum = 0;
    for (const sim::Part& p : kernels.parts) sum += seconds[p.seconds + type];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace search
