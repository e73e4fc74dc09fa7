#pragma once
// The kernels that devices run in one iteration of a plan, whenever they run: what a profile of a step lists. Not here: what waits, or
// moves between devices (simulation.hpp).

#include <string_view>
#include <vector>

#include "pcg/work/kernel.hpp"
#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Kernels of one kind and name that a device runs.
struct KernelSum {
  pcg::KernelKind kind = pcg::KernelKind::elementwise;
  std::string_view name;  // pcg::Kernel::name
  double count = 0;       // a share of a node's work counts as that share of its kernels
  base::Seconds time;     // of all together
};

// Returns the kernels of one device, added up by kind and name, in the order in which they first run. Their times are those alone:
// collectives slow none.
// Requires: pcg::violations(plan) is empty; the plan uses the device.
// Throws: base::InputError as simulate_plan().
// Cost: a lowering, and O(items of the iteration).
[[nodiscard]] std::vector<KernelSum> kernel_sums(const pcg::Plan& plan, const topology::Cluster& cluster, base::DeviceId device,
                                                 const SimulationConfig& config = {});

}  // namespace sim
