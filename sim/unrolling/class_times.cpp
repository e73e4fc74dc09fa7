#include "sim/unrolling/class_times.hpp"

#include <algorithm>

namespace sim {
namespace {

double sum(const std::vector<double>& seconds, std::span<const Part> parts, std::uint32_t device_type) {
  double s = 0;
  for (const Part& p : parts) s += seconds[p.seconds + device_type];
  return s;
}

}  // namespace

ClassTimes::ClassTimes(const Program& program, const Folded& folded, const topology::Cluster& cluster) : program_(program) {
  // Folding keeps device types apart, so the representative speaks for its class.
  for (const base::DeviceId d : folded.representatives) {
    const auto type = std::ranges::find(program.device_types, topology::kind_of(cluster.device(d)));
    device_type_.push_back(static_cast<std::uint32_t>(type - program.device_types.begin()));
  }
}

double ClassTimes::kernels_s(std::span<const Part> parts, std::uint32_t device_class) const {
  return sum(program_.seconds, parts, device_type_[device_class]);
}

profiles::ByBasis<double> ClassTimes::kernels_by_basis(std::span<const Part> parts, std::uint32_t device_class) const {
  profiles::ByBasis<double> sums;
  for (const Part& p : parts)
    for (const profiles::Basis b : profiles::kBases) sums[b] += program_.by_basis[p.seconds + device_type_[device_class]][b];
  return sums;
}

double ClassTimes::launch_s(std::span<const Part> parts, std::uint32_t device_class) const {
  return sum(program_.host, parts, device_type_[device_class]);
}

double ClassTimes::launch_s(const Transfer& transfer, std::uint32_t device_class) const {
  return program_.launch_s(transfer, device_type_[device_class]);
}

const std::vector<std::uint32_t>& SetClasses::of(DeviceSetId id) {
  std::vector<std::uint32_t>& classes = known_[id.value];
  if (!classes.empty()) return classes;
  for (const base::DeviceId d : program_.device_sets[id.value]) classes.push_back(folded_.class_of[d.value]);
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

}  // namespace sim
