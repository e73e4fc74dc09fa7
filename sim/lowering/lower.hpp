#pragma once
// Plan -> Program: every operator's shards on their devices, forward and backward, what must move between them, recomputation,
// gradient synchronisation and the update, for one micro-batch of each virtual stage.

#include "profiles/framework_profile.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Requires: pcg::violations(plan) is empty. Throws: base::InputError when a device does not support the precision.
// Cost: O(nodes x points) plus distinct movements x their shards.
[[nodiscard]] Program lower(const pcg::Plan& plan, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework);

}  // namespace sim
