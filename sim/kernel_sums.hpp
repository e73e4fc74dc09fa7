#pragma once
// The kernels that devices run in one iteration of a plan, whenever they run: what a profile of a step lists. Not here: what waits, or
// moves between devices (simulation.hpp).

#include <vector>

#include "sim/kernels/kernel_cost.hpp"
#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Returns the kernels of one device, added up by kind and name, in the order in which they first run. Their times are those alone:
// collectives slow none.
// Requires: pcg::violations(plan) is empty; the plan uses the device.
// Throws: base::InputError as simulate_plan().
// Cost: a lowering, and O(items of the iteration).
[[nodiscard]] std::vector<KernelSum> kernel_sums(const pcg::Plan& plan, const topology::Cluster& cluster, base::DeviceId device,
                                                 const SimulationConfig& config = {});

}  // namespace sim
