#include "search/estimates/item_costs.hpp"

#include <algorithm>
#include <set>

#include "sim/pricing/transfer_launch.hpp"

namespace search {

ItemCosts::ItemCosts(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
                     std::uint32_t pace)
    : program_(program), movement_s_(movement_s), pace_(pace) {
  for (const std::vector<base::DeviceId>& devices : program.device_sets) {
    std::set<std::uint32_t> types;
    for (const base::DeviceId d : devices) {
      const auto type = std::ranges::find(program.device_types, cluster.device(d).type);
      types.insert(static_cast<std::uint32_t>(type - program.device_types.begin()));
    }
    if (types.contains(pace)) types = {pace};
    types_.emplace_back(types.begin(), types.end());
  }
  overlap_slowdown_ = profiles::device_profile(program.device_types[pace]).overlap_slowdown;
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

double ItemCosts::launch_s(const sim::Move& move) const {
  const base::Seconds launch = program_.collective_launch[pace_];
  double sum = 0;
  for (const sim::Round& round : program_.movements[move.movement.value].rounds)
    sum += sim::transfer_launch_s(round.front(), launch, program_.launch_jitter);
  return sum;
}

bool ItemCosts::is_collective(const sim::Move& move) const {
  return std::ranges::any_of(program_.movements[move.movement.value].rounds,
                             [](const sim::Round& r) { return r.front().kind != sim::CollectiveKind::send; });
}

}  // namespace search
