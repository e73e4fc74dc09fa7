#pragma once
// Simulates one training iteration of a plan on a cluster.
// Start here: simulate_plan() (this file) and SimulationResult (results/simulation_result.hpp); planners ask Oracle (oracle.hpp).
// Then read simulate_plan's body, which calls in this order:
//   dataflow_of       dataflow/dataflow.hpp      who reads whose tensors, where they lie, who adds up gradients
//   lower             lowering/lower.hpp         plan -> Program (program/program.hpp): kernels, movements and their order, by stage
//     CostTable       kernels/cost_table.hpp     seconds of kernels, on devices and on their hosts
//   traffic_of, fold  folding/folding.hpp        movements as flows over links (collectives/plan_collective.hpp); classes of equal devices
//   device_memory     memory/memory.hpp          bytes of each device, from the schedule (schedules/schedule.hpp) alone
//   unroll, simulate  unrolling/unroll.hpp       Program -> TaskGraph of all micro-batches, run by engine/simgrid_engine.hpp
//   account_of        accounting/account.hpp     breakdown, critical path, bytes; steady_state.hpp extrapolates micro-batches

#include <cstdint>
#include <optional>
#include <string>

#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace sim {

struct FlowGraph;

// Returns: the iteration, in memory or not (MemoryUse::fits).
// Requires: pcg::violations(plan) is empty; plan.gpus <= cluster.device_count().
// Throws: base::InputError when a device has no profile or cannot train in the plan's precision.
// Threads: one at a time (engine/simgrid_engine.hpp).
[[nodiscard]] SimulationResult simulate_plan(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config = {});

// Products whose matrices have rows of no whole multiple of 16 bytes, which tensor cores take far slower than others: a vocabulary that
// is not padded, as a rule. No profile knows how slow, so a forecast says that they are there.
// Returns those of the linear layers of a plan in half precision or tf32, by the FLOPs that a device computes in one pass.
struct MisalignedProducts {
  double share = 0;          // of the layers with such rows
  std::string layer;         // of these the one with most FLOPs
  std::int64_t numbers = 0;  // the length of its row
  int multiple = 8;          // of what it would have to be one
};

// Returns nullopt where no layer has such rows.
// Cost: O(nodes).
[[nodiscard]] std::optional<MisalignedProducts> misaligned_products(const pcg::Plan& plan, const FlowGraph& flow);

}  // namespace sim
