#pragma once
// Memory of a plan, device by device, from the schedule alone: model states, activations kept between forward and backward, what
// recomputation and gathered weights need for a moment. No simulation is needed: what is alive depends on order, not on time.

#include <span>
#include <vector>

#include "profiles/framework_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/results/simulation_config.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Bytes of one device; per virtual stage where it says so.
struct DeviceMemory {
  base::Bytes weights, gradients, optimizer;
  std::vector<base::Bytes> saved;      // per stage: kept by one micro-batch from its forward to its backward pass
  std::vector<base::Bytes> transient;  // per stage: on top of it, while its backward pass runs
  [[nodiscard]] base::Bytes states() const { return weights + gradients + optimizer; }
};

// One per device of the cluster (zero where the plan uses none). `dataflow` is dataflow_of(plan). O(nodes x points).
[[nodiscard]] std::vector<DeviceMemory> device_memory(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
                                                      const profiles::FrameworkProfile& framework);

// Of the device that needs most. workspace: what the profile reserves for context and libraries, and the transient part.
[[nodiscard]] MemoryUse peak_memory(const pcg::Plan& plan, std::span<const DeviceMemory> devices, const topology::Cluster& cluster);

// As `config` would simulate it.
[[nodiscard]] MemoryUse memory_of(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config = {});

}  // namespace sim
