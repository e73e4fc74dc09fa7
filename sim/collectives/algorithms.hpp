#pragma once
// Each algorithm's phases for one request. Private to this folder. Latencies of a phase are those of the longest chain of messages in
// it; bytes are what each route carries in all, as the chunks of a collective flow through all routes at once (pipelined).

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/collectives/channels.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/ways.hpp"

namespace sim {

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::all_reduce;
  base::Bytes bytes;
  std::span<const topology::DeviceId> group;  // two devices at least
  const std::vector<NodeMembers>& nodes;      // by_node(group)
  const topology::Cluster& cluster;
  bool step_by_step = false;
  bool profiled = false;  // by a network profile: hops over different ways each count, not all as the slowest; trees only between nodes
  bool relays = false;    // GPUs pass on what others send to each other (NetworkProfile::relays)
  Ways& ways;
  mutable std::map<int, std::vector<Channel>> known_channels;  // by their most; what several algorithms ask for is found once

  [[nodiscard]] const std::vector<Channel>& channels(int most) const {
    const auto [at, is_new] = known_channels.try_emplace(most);
    if (is_new) at->second = find_channels(nodes, cluster, most, relays);
    return at->second;
  }
};

// nullopt: the algorithm does not do this kind or not on this group. `channels`: at most so many.
[[nodiscard]] std::optional<Collective> plan_ring(const CollectiveRequest& r, int channels);  // all but all-to-all and send
[[nodiscard]] std::optional<Collective> plan_tree(const CollectiveRequest& r, int channels);  // all-reduce
[[nodiscard]] std::optional<Collective> plan_hierarchical(const CollectiveRequest& r,
                                                          int channels);  // several nodes with equally many, more than one
[[nodiscard]] std::optional<Collective> plan_in_switch(
    const CollectiveRequest& r);  // all-reduce in nodes whose switch reduces, equally many in each
[[nodiscard]] std::optional<Collective> plan_pairwise(const CollectiveRequest& r);  // all-to-all, send

// The two trees of a double binary tree over ranks 0..n-1, as parents (-1: root): balanced, of height ceil(log2 n), and no rank but
// a root has children in both (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).
struct TwoTrees {
  std::vector<int> first, second;
  int height = 0;
};
[[nodiscard]] TwoTrees double_binary_tree(int n);

}  // namespace sim
