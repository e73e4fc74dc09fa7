#pragma once
// Each algorithm's phases for one request: one function per algorithm, all alike, in the source of the algorithm's name. Private to this
// folder. Latencies of a phase are those of the longest chain of messages in it; bytes are what each route carries in all, as the chunks
// of a collective flow through all routes at once (pipelined).

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/channels/channels.hpp"
#include "sim/collectives/collective.hpp"

namespace sim {

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::all_reduce;
  base::Bytes bytes;
  Forwarding forwarding;
  std::span<const topology::DeviceId> group;  // two devices at least
  const std::vector<NodeMembers>& nodes;      // by_node(group)
  const topology::Cluster& cluster;
  bool profiled = false;  // by a network profile: trees only between nodes
  Relays relays = Relays::none;
  RouteClasses& route_classes;
  mutable std::map<int, std::vector<Channel>> known_channels;  // by the most that was asked for; found once for all algorithms

  [[nodiscard]] const std::vector<Channel>& channels(int most) const;
};

// By any of the algorithms below.
// Requires: not Algorithm::automatic.
[[nodiscard]] std::optional<Collective> plan_with(Algorithm a, const CollectiveRequest& r, int channels);

// Returns: phases with their flows and chains, without costs; nullopt where the algorithm does not do this kind of collective, or not in
// this group. `channels`: at most this number.
// All kinds but all-to-all and send.
[[nodiscard]] std::optional<Collective> plan_ring(const CollectiveRequest& r, int channels);
// All-reduce.
[[nodiscard]] std::optional<Collective> plan_tree(const CollectiveRequest& r, int channels);
// All-reduce, all-gather and reduce-scatter over several nodes with equally many members, more than one.
[[nodiscard]] std::optional<Collective> plan_hierarchical(const CollectiveRequest& r, int channels);
// All-reduce in nodes whose switch reduces, with equally many members in each. `a`: in_switch in one node, in_switch_tree over several: the
// wires of a node carry the same, but a library that also passes sums on to other nodes does not fill them as well.
[[nodiscard]] std::optional<Collective> plan_in_switch(Algorithm a, const CollectiveRequest& r);
// All-to-all and send, what is not forwarded.
[[nodiscard]] std::optional<Collective> plan_pairwise(const CollectiveRequest& r);
// All-to-all whose members pass on what comes to their domain. `a`: forwarded or bulk_forwarded, which are the same but for their costs.
[[nodiscard]] std::optional<Collective> plan_forwarded(Algorithm a, const CollectiveRequest& r);

// Messages of a phase that run at the same time. The one over the slowest route counts in the phase's longest chain.
class Messages {
 public:
  explicit Messages(const CollectiveRequest& r) : r_(r) {}
  // `copies`: equal ones that have a part of the bytes each.
  void send(topology::DeviceId from, topology::DeviceId to, topology::Route route, base::Bytes bytes, CollectivePhase& phase,
            int copies = 1);
  // By message_routes(), an equal part over each. `from` is one of the node's members.
  void send(const NodeMembers& node, topology::DeviceId from, topology::DeviceId to, base::Bytes bytes, CollectivePhase& phase);
  // Adds `count` messages over the slowest route; none where none was sent.
  void add_to(std::vector<Hops>& chain, double count) const {
    if (slowest_ && count > 0) chain.push_back({*slowest_, count});
  }

 private:
  const CollectiveRequest& r_;
  std::optional<RouteClassId> slowest_;
};

// Double binary trees: two trees over the same ranks in which no rank but a root has children in both, so that all ranks send equally
// much (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).
struct TwoTrees {
  std::vector<int> first, second;  // parent of each rank; -1: the root
  int height = 0;                  // hops from the farthest rank to its root
};

// Over ranks 0 .. n-1. Both trees are balanced, of height ceil(log2 n).
// Requires: n >= 1.
// Cost: O(n log n).
[[nodiscard]] TwoTrees double_binary_tree(int n);

}  // namespace sim
