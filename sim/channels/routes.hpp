#pragma once
// Routes of messages, where GPUs may pass on what others send.

#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace sim {

// by_gpus: NetworkProfile::relays.
enum class Relays { none, by_gpus };

// Returns: Cluster::route; with relays by GPUs, where nothing nearer than a CPU joins the two, the route through the GPU of the node that
// the fabric joins to both, the widest of several (NCCL's NVB paths: in a cube mesh most pairs have no wire of their own, and the route
// through the host is slow).
// Cost: O(devices of the node) routes with relays, else one.
[[nodiscard]] topology::Route route_between(topology::DeviceId from, topology::DeviceId to, const topology::Cluster& cluster,
                                            Relays relays);

// Returns: the routes that a message takes, each with an equal part of it. Within a node that is route_between; between nodes one for each
// NIC of the receiver's own, as far as the sender has as many. It leaves by the NIC of the same number, so that it stays on its rail. Where
// another member in the sender's node owns that NIC, the sender hands the message to that member over the fabric (NCCL's PXN, which relays
// through ranks of the communicator alone).
// Requires: `members` are those of the group in the sender's node.
// Cost: O(members) routes.
[[nodiscard]] std::vector<topology::Route> message_routes(topology::DeviceId from, topology::DeviceId to,
                                                          std::span<const topology::DeviceId> members, const topology::Cluster& cluster,
                                                          Relays relays);

}  // namespace sim
