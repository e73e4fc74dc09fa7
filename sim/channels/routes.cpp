#include "sim/channels/routes.hpp"

#include <algorithm>

namespace sim {
namespace {

// A relayed message costs its relay memory traffic and a latency: a library takes it for a clear gain only.
constexpr double kWider = 1.5;

}  // namespace

topology::Route route_between(topology::DeviceId from, topology::DeviceId to, const topology::Cluster& cluster, Relays relays) {
  topology::Route best = cluster.route(from, to);
  const int node = cluster.device(from).node;
  if (relays == Relays::none || node != cluster.device(to).node) return best;
  for (const topology::DeviceId relay : cluster.node_devices(node)) {
    if (relay == from || relay == to) continue;
    topology::Route first = cluster.route(from, relay);
    const topology::Route second = cluster.route(relay, to);
    const base::BytesPerSecond width = std::min(first.bandwidth, second.bandwidth);
    if (width <= best.bandwidth * kWider) continue;
    first.links.insert(first.links.end(), second.links.begin(), second.links.end());
    best = {std::move(first.links), width, first.latency + second.latency};
  }
  return best;
}

}  // namespace sim
