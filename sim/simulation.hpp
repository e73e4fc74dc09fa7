#pragma once
// One call: a plan on a cluster in, a simulated training iteration out. Lowering, folding, engine and accounting are behind it.

#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Requires: pcg::violations(plan) is empty; plan.gpus <= cluster.device_count().
// Throws: base::InputError when a device has no profile or cannot train in the plan's precision.
// Not for several threads at once: see engine/simgrid_engine.hpp.
[[nodiscard]] SimulationResult simulate_plan(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config = {});

}  // namespace sim
