#include "sim/collectives/algorithms.hpp"

#include <algorithm>

namespace sim {
namespace {

// An in-order binary tree: a rank's place is given by its lowest set bit; leaves are the odd ranks, the root is 0 with one child.
std::vector<int> in_order_tree(int n) {
  std::vector<int> parent(static_cast<std::size_t>(n), -1);
  for (int r = 1; r < n; ++r) {
    const int bit = r & -r;
    parent[static_cast<std::size_t>(r)] = (r & (2 * bit)) != 0 || r + bit >= n ? r - bit : r + bit;
  }
  return parent;
}

int height_of(const std::vector<int>& parent) {
  int height = 0;
  for (int r = 0; r < static_cast<int>(parent.size()); ++r) {
    int up = 0;
    for (int at = r; parent[static_cast<std::size_t>(at)] >= 0; at = parent[static_cast<std::size_t>(at)]) ++up;
    height = std::max(height, up);
  }
  return height;
}

// Both ways between neighbours of a channel's path inside a node: reduced towards its first member, and back. For each of the two trees.
void add_chains(std::vector<Hop>& hops, const Channel& channel) {
  const auto send = [&](topology::DeviceId from, topology::DeviceId to) {
    hops.push_back({.from = from, .to = to, .share = channel.share / 2, .copies = 2});
  };
  for (const NodePath& path : channel.path)
    for (std::size_t j = 0; j + 1 < path.members.size(); ++j) {
      send(path.members[j], path.members[j + 1]);
      send(path.members[j + 1], path.members[j]);
    }
}

// Both ways between the first members of nodes that are parent and child.
void add_tree(std::vector<Hop>& hops, const Channel& channel, const std::vector<int>& parent) {
  for (std::size_t node = 0; node < parent.size(); ++node) {
    if (parent[node] < 0) continue;
    const NodePath &child = channel.path[node], &above = channel.path[static_cast<std::size_t>(parent[node])];
    hops.push_back({child.members.front(), above.members.front(), child.first_nic, above.first_nic, channel.share / 2});
    hops.push_back({above.members.front(), child.members.front(), above.first_nic, child.first_nic, channel.share / 2});
  }
}

}  // namespace

TwoTrees double_binary_tree(int n) {
  TwoTrees t;
  t.first = in_order_tree(n);
  t.height = height_of(t.first);
  // The second tree is the first with the ranks mirrored (n even) or moved on by one (n odd), which turns odd ranks into even ones.
  t.second.assign(t.first.size(), -1);
  const auto mirrored = [n](int r) { return n % 2 == 0 ? n - 1 - r : (r + 1) % n; };
  for (int r = 0; r < n; ++r)
    if (const int p = t.first[static_cast<std::size_t>(r)]; p >= 0) t.second[static_cast<std::size_t>(mirrored(r))] = mirrored(p);
  return t;
}

// Up a tree and down again, half of the buffer over each of two trees over the nodes; a chain inside each node. A rank with two
// children sends S/2 up, and S/2 down to each; in the other tree it is a leaf and sends S/2 up: 2 S in all, and as much comes in.
std::optional<Collective> plan_tree(const CollectiveRequest& r, int channels) {
  if (r.kind != CollectiveKind::all_reduce) return std::nullopt;
  if (r.profiled && r.nodes.size() == 1) return std::nullopt;  // a library keeps to rings there: the chain has as many messages
  const std::vector<Channel>& found = r.channels(channels);
  const TwoTrees trees = double_binary_tree(static_cast<int>(r.nodes.size()));
  std::vector<Hop> hops;
  for (const Channel& c : found) {
    add_chains(hops, c);
    add_tree(hops, c, trees.first);
    add_tree(hops, c, trees.second);
  }
  CollectivePhase phase;
  Messages inside(r), between(r);
  for (const Hop& h : joined(std::move(hops))) {
    const bool same_node = r.cluster.device(h.from).domain == r.cluster.device(h.to).domain;
    (same_node ? inside : between).send(h.from, h.to, route_of(h, r.cluster), r.bytes * (h.share * h.copies), phase, h.copies);
  }
  std::size_t longest = 0;
  for (const NodeMembers& n : r.nodes) longest = std::max(longest, n.members.size() - 1);
  inside.add_to(phase.chain, 2.0 * static_cast<double>(longest));
  between.add_to(phase.chain, 2.0 * trees.height);
  return Collective{Algorithm::tree, static_cast<int>(found.size()), {std::move(phase)}, {}};
}

}  // namespace sim
