#pragma once
// Channels: the ways through a group that its collectives take side by side, each carrying a share of the bytes. Over several nodes
// there is one per NIC that the group can use: it enters a node at a GPU near the NIC, goes through the group's GPUs of that node and
// leaves by the same NIC. Within one node there are as many cycles as the wires carry. Private to this folder.

#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace sim {

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
  bool relays = false;                                // within a node: routes are those of route_between(.., true)
  std::vector<std::vector<topology::DeviceId>> path;  // per node of by_node(): its members in order, from the one that the NIC enters
};

// At most `most` channels. `relays`: within one node GPUs may pass messages on, if all cycles together are quicker for it.
// Within a node shares are in proportion to what each cycle carries; over NICs they are equal.
// Requires: at least two devices in all. Cost: one search per distinct wiring, else O(channels * devices).
[[nodiscard]] std::vector<Channel> find_channels(std::span<const NodeMembers> nodes, const topology::Cluster& cluster, int most,
                                                 bool relays = false);

// One message route between neighbours of a channel. Equal ones are joined and their shares added.
struct Hop {
  topology::DeviceId from, to;
  int nic = kOwnNic;
  double share = 1;
  bool relays = false;
};
[[nodiscard]] std::vector<Hop> joined(std::vector<Hop> hops);
[[nodiscard]] std::vector<Hop> ring_hops(std::span<const Channel> channels);
[[nodiscard]] topology::Route route_of(const Hop& hop, const topology::Cluster& cluster);
// Cluster::route; with `relays` through another GPU of the node where that is wider by half at least (NCCL's NVB paths: in a cube mesh
// most pairs have no wire of their own, and the way through the host is slow).
[[nodiscard]] topology::Route route_between(topology::DeviceId from, topology::DeviceId to, const topology::Cluster& cluster, bool relays);

}  // namespace sim
