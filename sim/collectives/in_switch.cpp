#include <algorithm>

#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// Most GPUs of a node that reduce (NCCL, NCCL_MAX_NVLS_ARITY): in a rack not all of them, nor all of its adapters.
constexpr std::size_t kMostHeads = 32;

// Half of every head's part over each of two trees over the nodes, up and down.
void add_trees_across(const CollectiveRequest& r, CollectivePhase& phase) {
  const TwoTrees trees = double_binary_tree(static_cast<int>(r.nodes.size()));
  const std::size_t members = r.nodes.front().members.size(), heads = std::min(members, kMostHeads);
  const double part = 0.5 / static_cast<double>(heads);
  Messages between(r);
  const auto send = [&](topology::DeviceId from, topology::DeviceId to) {
    between.send(from, to, r.cluster.route(from, to), r.bytes * part, phase);
  };
  for (const std::vector<int>* parent : {&trees.first, &trees.second})
    for (std::size_t node = 0; node < parent->size(); ++node) {
      if ((*parent)[node] < 0) continue;
      const NodeMembers& above = r.nodes[static_cast<std::size_t>((*parent)[node])];
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t rank = head * members / heads;
        send(r.nodes[node].members[rank], above.members[rank]);
        send(above.members[rank], r.nodes[node].members[rank]);
      }
    }
  between.add_to(phase.chain, 2.0 * trees.height);
}

}  // namespace

// NVLink SHARP. Every GPU of a node reduces 1/n of the buffer: it reads it through the switch, which asks all n GPUs for their part and
// returns the sum, and writes the sum through the switch, which hands it to all n. Each GPU thus sends n parts when others (and itself)
// read, and one when it writes; it receives one sum that it reads and n that are written: S (n+1)/n each way. On the wire the two halves
// overlap; the latencies of a read and a write add. A flow here is up from one GPU and down to the next: every wire has its load once.
// Over several nodes (NVLSTree) the part that a GPU has reduced goes up and down two trees over the nodes before it writes it.
std::optional<Collective> plan_in_switch(Algorithm a, const CollectiveRequest& r) {
  if (r.kind != CollectiveKind::all_reduce || (a == Algorithm::in_switch_tree) != (r.nodes.size() > 1)) return std::nullopt;
  const std::size_t n = r.nodes.front().members.size();
  if (r.nodes.size() > 1 && n < 2) return std::nullopt;
  if (!std::ranges::all_of(r.nodes, [&](const NodeMembers& node) { return node.members.size() == n; })) return std::nullopt;
  CollectivePhase phase;
  Messages inside(r);
  for (const NodeMembers& node : r.nodes) {
    std::vector<topology::Cluster::SwitchPaths> paths;
    for (const topology::DeviceId d : node.members) {
      std::optional<topology::Cluster::SwitchPaths> p = r.cluster.in_network_switch(d);
      if (!p) return std::nullopt;
      paths.push_back(std::move(*p));
    }
    for (std::size_t i = 0; i < n; ++i)
      inside.send(node.members[i], node.members[(i + 1) % n], through(paths[i].up, paths[(i + 1) % n].down),
                  r.bytes * (static_cast<double>(n + 1) / static_cast<double>(n)), phase);
  }
  inside.add_to(phase.chain, 2);
  if (r.nodes.size() > 1) add_trees_across(r, phase);
  return Collective{a, 1, {std::move(phase)}, {}};
}

}  // namespace sim
