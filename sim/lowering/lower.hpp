#pragma once
// Plan -> Program: every operator's shards on their devices, forward and backward, what must move between them, recomputation,
// gradient synchronisation and the update, for one micro-batch of each virtual stage.

#include "profiles/framework_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Requires: pcg::violations(plan) is empty; `dataflow` is dataflow_of(plan). Throws: base::InputError when a device does not support the
// precision. Cost: O(nodes x points) plus distinct movements x their shards.
[[nodiscard]] Program lower(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
                            const profiles::FrameworkProfile& framework);

}  // namespace sim
