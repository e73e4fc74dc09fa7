#pragma once
// Channels: the paths through a group that its collectives take side by side, each carrying a share of the bytes (NCCL's channels, as
// far as they take different wires). Over several nodes there is one for each NIC that is a member's own: a group uses the NICs of its own
// GPUs alone. It enters a node at the owner of one NIC, goes through the group's GPUs of that node and leaves by the NIC of another. In
// every second node it runs the other way round, so that a message leaves by the NIC of the number by which the next node takes it in: it
// stays on its rail (NCCL's alternating rings, src/graph/connect.cc). Within one node there are as many cycles as the wires carry.
// A node is here what it is to NCCL: the GPUs that reach each other without the network (a domain of topology/cluster.hpp), those of
// one host or of several that a fabric joins.
// Channels are those of the cluster as it was built: a library that shares bytes equally among its channels does not rebalance them over a
// link of which a fault leaves a part, so that a collective takes at most 1/part as long, and longer the less is left.
// Private to sim/channels and sim/collectives.

#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace sim {

// Routes of messages, where GPUs may pass on what others send.
// by_gpus: NetworkProfile::relays.
enum class Relays { none, by_gpus };

// Returns: the route over one and then over the other.
[[nodiscard]] topology::Route through(topology::Route first, const topology::Route& second);

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

// More than the widest port of a GPU can feed: 900 GB/s of NVLink to 18 adapters of 50 GB/s. Inside a node the wires give fewer cycles.
inline constexpr int kMostChannels = 32;

// The members of a group on one node, ascending.
struct NodeMembers {
  int domain = 0;  // the node's number
  std::vector<topology::DeviceId> members;
};
// Nodes ascending.
[[nodiscard]] std::vector<NodeMembers> by_node(std::span<const topology::DeviceId> group, const topology::Cluster& cluster);

// The way through the members of one node: all of them, in order.
struct NodePath {
  std::vector<topology::DeviceId> members;
  int first_nic = 0, last_nic = 0;  // of the first and of the last member's own; unused where all members are of one node
};

struct Channel {
  double share = 1;              // of the bytes; the channels of a group add up to 1
  Relays relays = Relays::none;  // of the routes within the node, where all members are of one
  std::vector<NodePath> path;    // per node of by_node(), as its even nodes take it
};

// Returns: at most `most` channels. Within a node shares are in proportion to what each cycle carries; over NICs they are equal. All hops
// of a node are of the nearest kinds of routes over which a cycle passes all its members: NCCL searches by kind, too, and a ring over fast
// wires has none beside it through the host (src/graph/search.cc, typeIntra). With relays by GPUs, the cycles within one node use them if
// all cycles together are quicker for it.
// Requires: at least two devices in all.
// Cost: for each distinct wiring of a node up to `most` searches (path_search.hpp), twice with relays; else O(channels * devices).
[[nodiscard]] std::vector<Channel> find_channels(std::span<const NodeMembers> nodes, const topology::Cluster& cluster, int most,
                                                 Relays relays);

// Hops: the messages between neighbours of a channel, with the share of the bytes that each carries.
struct Hop {
  topology::DeviceId from, to;
  int nic_from = 0, nic_to = 0;  // where they are in different nodes
  double share = 1;              // of each copy
  Relays relays = Relays::none;
  int copies = 1;  // equal hops
};

// Equal hops are joined: fewer to look at. Returns: ascending by ends, NICs and share.
[[nodiscard]] std::vector<Hop> joined(std::vector<Hop> hops);
// Each channel as a ring: along its path, and from its last device to its first; every second node is passed backwards. Joined.
[[nodiscard]] std::vector<Hop> ring_hops(std::span<const Channel> channels);
// The route that a hop's messages take.
[[nodiscard]] topology::Route route_of(const Hop& hop, const topology::Cluster& cluster);

}  // namespace sim
