#pragma once

#include "profiles/device_profile.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Returns the profile of a type of device as a cluster runs it: faster or slower than it ships, or held to a power.
// Throws: base::InputError when the type is unknown. Requires: its profile knows a power where there is a limit (profiles::limit_problem).
[[nodiscard]] inline profiles::DeviceProfile running_profile(const std::string& type, const topology::DeviceSpeed& speed) {
  profiles::DeviceProfile d = profiles::scaled(profiles::device_profile(type), speed.compute, speed.memory);
  return speed.power_limit.value() > 0 ? profiles::limited(std::move(d), speed.power_limit) : d;
}

}  // namespace sim
