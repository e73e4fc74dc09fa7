#pragma once
// Channels: the paths through a group that its collectives take side by side, each carrying a share of the bytes (NCCL's channels, as
// far as they take different wires). Over several nodes there is one per NIC that the group can use: it enters a node at a GPU near the
// NIC, goes through the group's GPUs of that node and leaves by the same NIC. Within one node there are as many cycles as the wires
// carry. Private to sim/channels and sim/collectives.

#include <span>
#include <vector>

#include "sim/channels/routes.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Eight NICs are the most that a node of the presets has; inside a node the wires give fewer cycles.
inline constexpr int kMostChannels = 8;
inline constexpr int kOwnNic = -1;  // each device's own: Cluster::route

// The members of a group on one node, ascending.
struct NodeMembers {
  int node = 0;
  std::vector<topology::DeviceId> members;
};
// Nodes ascending.
[[nodiscard]] std::vector<NodeMembers> by_node(std::span<const topology::DeviceId> group, const topology::Cluster& cluster);

struct Channel {
  int nic = kOwnNic;
  double share = 1;                                   // of the bytes; the channels of a group add up to 1
  Relays relays = Relays::none;                       // of the routes within the node, where all members are of one
  std::vector<std::vector<topology::DeviceId>> path;  // per node of by_node(): its members in order, from the one that the NIC enters
};

// Returns: at most `most` channels. Within a node shares are in proportion to what each cycle carries; over NICs they are equal. With
// relays by GPUs, the cycles within one node use them if all cycles together are quicker for it.
// Requires: at least two devices in all.
// Cost: for each distinct wiring of a node up to `most` searches (path_search.hpp), twice with relays, over NICs some per NIC; else
// O(channels * devices).
[[nodiscard]] std::vector<Channel> find_channels(std::span<const NodeMembers> nodes, const topology::Cluster& cluster, int most,
                                                 Relays relays);

}  // namespace sim
