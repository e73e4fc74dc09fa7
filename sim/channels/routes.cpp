#include "sim/channels/channels.hpp"

#include <algorithm>

namespace sim {
namespace {

using topology::Cluster;
using topology::DeviceId;
using topology::Route;
using topology::RouteKind;

bool owns(DeviceId d, int nic, const Cluster& cluster) {
  const std::span<const int> own = cluster.nics_of(d);
  return std::ranges::find(own, nic) != own.end();
}

// Out through the NIC of the number by which the receiver takes it in, or through one of the sender's own.
Route route_on_rail(DeviceId from, DeviceId to, int nic_to, std::size_t nth, std::span<const DeviceId> members, const Cluster& cluster) {
  if (owns(from, nic_to, cluster)) return cluster.route_through_nics(from, to, nic_to, nic_to);
  for (const DeviceId relay : members) {
    if (relay == from || !owns(relay, nic_to, cluster)) continue;
    const Route to_relay = cluster.route(from, relay);
    if (to_relay.kind == RouteKind::fabric) return through(to_relay, cluster.route_through_nics(relay, to, nic_to, nic_to));
  }
  return cluster.route_through_nics(from, to, cluster.nics_of(from)[nth], nic_to);
}

}  // namespace

Route through(Route first, const Route& second) {
  first.links.insert(first.links.end(), second.links.begin(), second.links.end());
  first.bandwidth = std::min(first.bandwidth, second.bandwidth);
  first.built = std::min(first.built, second.built);
  first.latency += second.latency;
  first.kind = std::max(first.kind, second.kind);
  return first;
}

Route route_between(DeviceId from, DeviceId to, const Cluster& cluster, Relays relays) {
  Route best = cluster.route(from, to);
  if (relays == Relays::none || best.kind < RouteKind::one_socket || best.kind == RouteKind::network) return best;
  for (const DeviceId relay : cluster.node_devices(cluster.device(from).node)) {
    if (relay == from || relay == to) continue;
    const Route first = cluster.route(from, relay), second = cluster.route(relay, to);
    if (first.kind != RouteKind::fabric || second.kind != RouteKind::fabric) continue;
    Route relayed = through(first, second);
    if (best.kind != RouteKind::fabric || relayed.built > best.built) best = std::move(relayed);
  }
  return best;
}

std::vector<Route> message_routes(DeviceId from, DeviceId to, std::span<const DeviceId> members, const Cluster& cluster, Relays relays) {
  if (cluster.device(from).domain == cluster.device(to).domain) return {route_between(from, to, cluster, relays)};
  const std::span<const int> nics = cluster.nics_of(to);
  const std::size_t count = std::min(nics.size(), cluster.nics_of(from).size());
  std::vector<Route> routes;
  for (std::size_t n = 0; n < count; ++n) routes.push_back(route_on_rail(from, to, nics[n], n, members, cluster));
  return routes;
}

}  // namespace sim
