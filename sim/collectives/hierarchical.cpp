#include <algorithm>

#include "sim/channels/channels.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

using topology::DeviceId;

// A ring all-gather or reduce-scatter in every node at once.
CollectivePhase inside_nodes(const CollectiveRequest& r, int channels, int& rings) {
  CollectivePhase phase;
  SlowestHop slowest(r.route_classes);
  const double members = static_cast<double>(r.nodes.front().members.size());
  for (const NodeMembers& node : r.nodes) {
    const std::vector<Channel> found = find_channels(std::span(&node, 1), r.cluster, channels, r.relays);
    rings = static_cast<int>(found.size());
    for (const Hop& h : ring_hops(found)) {
      topology::Route route = route_of(h, r.cluster);
      const RouteClassId route_class = r.route_classes.of(route);
      slowest.see(route_class);
      phase.flows.push_back({h.from, h.to, std::move(route.links), r.bytes * (h.share * (members - 1) / members), route_class});
    }
  }
  slowest.add_to(phase.chain, members - 1);
  return phase;
}

// A ring over the nodes for each local rank, all at once, each over its 1/members of the buffer.
CollectivePhase across_nodes(const CollectiveRequest& r) {
  CollectivePhase phase;
  SlowestHop slowest(r.route_classes);
  const std::size_t nodes = r.nodes.size(), members = r.nodes.front().members.size();
  const double steps = static_cast<double>(nodes - 1) * (r.kind == CollectiveKind::all_reduce ? 2 : 1);
  for (std::size_t rank = 0; rank < members; ++rank)
    for (std::size_t i = 0; i < nodes; ++i) {
      const DeviceId from = r.nodes[i].members[rank], to = r.nodes[(i + 1) % nodes].members[rank];
      topology::Route route = r.cluster.route(from, to);
      const RouteClassId route_class = r.route_classes.of(route);
      slowest.see(route_class);
      phase.flows.push_back({from, to, std::move(route.links), r.bytes * (steps / static_cast<double>(nodes * members)), route_class});
    }
  slowest.add_to(phase.chain, steps);
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
