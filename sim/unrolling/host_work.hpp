#pragma once
// What the hosts of one block do: whether they keep ahead of their devices, so that two launches stand for all of a block's.

#include <optional>
#include <vector>

#include "sim/unrolling/class_times.hpp"

namespace sim {

// The host of a device class works without a pause from the moment when its device starts the block.
struct HostWork {
  double launches_s = 0;          // all of the block's
  double reached_s = 0;           // when it has launched what was added, counting its waits for the device (Compute::host_drains)
  double kernels_s = 0;           // of the device
  std::optional<double> first_s;  // up to the launch of the first kernels; nullopt: the class runs no kernels here
  double most_waited_s = 0;       // how long the device would wait for the launch of any later kernels at most
};

// One per device class. Cost: O(items x classes they concern), and of the device sets as SetClasses says.
[[nodiscard]] std::vector<HostWork> host_work(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times);
}  // namespace sim
