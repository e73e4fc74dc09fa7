#pragma once
// Collectives as a TaskGraph of their own: what they take when nothing else runs.

#include <span>

#include "sim/collectives/collective.hpp"
#include "sim/engine/task_graph.hpp"

namespace sim {

// One task per collective, all free to start at 0, no streams. Links are those that some flow crosses.
[[nodiscard]] TaskGraph collective_graph(std::span<const Collective> collectives, const topology::Cluster& cluster);

}  // namespace sim
