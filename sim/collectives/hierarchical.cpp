#include <algorithm>

#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// A ring all-gather or reduce-scatter in every node at once.
CollectivePhase inside_nodes(const CollectiveRequest& r, int channels, int& rings) {
  CollectivePhase phase;
  Messages messages(r);
  const double members = static_cast<double>(r.nodes.front().members.size());
  for (const NodeMembers& node : r.nodes) {
    const std::vector<Channel> found = find_channels(std::span(&node, 1), r.cluster, channels, r.relays);
    rings = static_cast<int>(found.size());
    for (const Hop& h : ring_hops(found))
      messages.send(h.from, h.to, route_of(h, r.cluster), r.bytes * (h.share * h.copies * (members - 1) / members), phase, h.copies);
  }
  messages.add_to(phase.chain, members - 1);
  return phase;
}

// A ring over the nodes for each local rank, all at once, each over its 1/members of the buffer.
CollectivePhase across_nodes(const CollectiveRequest& r) {
  CollectivePhase phase;
  Messages messages(r);
  const std::size_t nodes = r.nodes.size(), members = r.nodes.front().members.size();
  const double steps = static_cast<double>(nodes - 1) * (r.kind == CollectiveKind::all_reduce ? 2 : 1);
  for (std::size_t rank = 0; rank < members; ++rank)
    for (std::size_t i = 0; i < nodes; ++i) {
      const topology::DeviceId from = r.nodes[i].members[rank], to = r.nodes[(i + 1) % nodes].members[rank];
      messages.send(from, to, r.cluster.route(from, to), r.bytes * (steps / static_cast<double>(nodes * members)), phase);
    }
  messages.add_to(phase.chain, steps);
  return phase;
}

}  // namespace

std::optional<Collective> plan_hierarchical(const CollectiveRequest& r, int channels) {
  const bool gathers = r.kind == CollectiveKind::all_gather, scatters = r.kind == CollectiveKind::reduce_scatter;
  if (!gathers && !scatters && r.kind != CollectiveKind::all_reduce) return std::nullopt;
  const std::size_t members = r.nodes.front().members.size();
  if (r.nodes.size() < 2 || members < 2) return std::nullopt;
  if (!std::ranges::all_of(r.nodes, [&](const NodeMembers& n) { return n.members.size() == members; })) return std::nullopt;
  Collective c{Algorithm::hierarchical, 1, {}, {}};
  const CollectivePhase inside = inside_nodes(r, channels, c.rings);
  if (!gathers) c.phases.push_back(inside);
  c.phases.push_back(across_nodes(r));
  if (!scatters) c.phases.push_back(inside);
  return c;
}

}  // namespace sim
