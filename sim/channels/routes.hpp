#pragma once
// Routes of messages inside a node, where GPUs may pass on what others send to each other.

#include "topology/cluster.hpp"

namespace sim {

// by_gpus: NetworkProfile::relays.
enum class Relays { none, by_gpus };

// Returns: Cluster::route; with relays by GPUs the route through another GPU of the node where one is wider by more than half (NCCL's
// NVB paths: in a cube mesh most pairs have no wire of their own, and the route through the host is slow).
// Cost: O(devices of the node) routes with relays, else one.
[[nodiscard]] topology::Route route_between(topology::DeviceId from, topology::DeviceId to, const topology::Cluster& cluster,
                                            Relays relays);

}  // namespace sim
