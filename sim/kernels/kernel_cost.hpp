#pragma once
// The time of one kernel in training: the device's time for the kernel alone, changed by what the framework does to it.

#include <optional>
#include <string>

#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "topology/cluster.hpp"

namespace sim {

// The conditions under which a kernel runs.
struct Running {
  pcg::Precision precision = pcg::Precision::fp32;  // of the training
  int gpus = 1;                                     // the slowest of them sets the pace
  bool constant_tokens = false;                     // TrainingConfig::constant_tokens
};

struct KernelCost {
  base::Seconds time;
  profiles::Basis basis = profiles::Basis::defaults;  // of the device's time
  // The share of its benchmark rate that a product keeps, where no measurement exists: another device's, or 1 for want of any.
  std::optional<double> assumed_share;
};

// Returns: profiles::kernel_time, with
//   tensor cores at the share of their rate that they sustain in training: what the framework's profile says of the device's generation,
//   else what the device's profile says of the precision and of the slowest of the GPUs, which sets the pace. With constant tokens no clock
//   gives way, so the share is 1;
//   for attention, where the framework's profile has the share of the peak that its kernels reach on the generation, at least
//   FLOPs / (peak x that share) in place of that; where it has the keys that a block costs, too, the time of that share in blocks: an
//   attention of these fixed keys (profiles::attention_seconds), with multiprocessors idle for half of a longest block at the end.
// Requires: no profiles::unsupported(device, running.precision).
// Cost: O(1).
[[nodiscard]] KernelCost kernel_cost(const profiles::DeviceProfile& device, const profiles::FrameworkProfile& framework,
                                     const pcg::Kernel& kernel, const Running& running);

// Returns the profile of a type of device as a cluster runs it: faster or slower than it ships, or held to a power.
// Requires: its profile knows a power where there is a limit (profiles::limit_problem).
// Throws: base::InputError when the type is unknown.
[[nodiscard]] profiles::DeviceProfile running_profile(const std::string& type, const topology::DeviceSpeed& speed);

}  // namespace sim
