#pragma once
// What the layers of a plan cost, before it is known which stage takes which.

#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"

namespace search {

// `plan`: every node in one and the same stage, on the devices of one rank of the pipeline. `layer_of_block`: as layers_of_blocks() gives
// them.
// Returns: the seconds of all kernels of each layer for one micro-batch, forward, backward and recomputed, as the simulator prices them, on
// the slowest type of these devices. What moves between devices is not counted.
// Throws: base::InputError when a device does not support the precision.
// Cost: O(nodes x points).
[[nodiscard]] std::vector<double> layer_costs(const pcg::Plan& plan, std::span<const int> layer_of_block, const sim::Oracle& oracle);

}  // namespace search
