#include "sim/channels/hops.hpp"

#include <algorithm>
#include <tuple>

namespace sim {

std::vector<Hop> joined(std::vector<Hop> hops) {
  std::ranges::sort(hops, {}, [](const Hop& h) { return std::tuple(h.from, h.to, h.nic); });
  std::vector<Hop> out;
  for (const Hop& h : hops) {
    // Two channels over one pair of devices and one NIC are one flow: fewer flows for the engine, and the same share.
    if (!out.empty() && out.back().from == h.from && out.back().to == h.to && out.back().nic == h.nic) out.back().share += h.share;
    else out.push_back(h);
  }
  return out;
}

std::vector<Hop> ring_hops(std::span<const Channel> channels) {
  std::vector<Hop> hops;
  for (const Channel& c : channels)
    for (std::size_t i = 0; i < c.path.size(); ++i) {
      const std::vector<topology::DeviceId>& here = c.path[i];
      for (std::size_t j = 0; j + 1 < here.size(); ++j) hops.push_back({here[j], here[j + 1], kOwnNic, c.share, c.relays});
      hops.push_back({here.back(), c.path[(i + 1) % c.path.size()].front(), c.path.size() == 1 ? kOwnNic : c.nic, c.share, c.relays});
    }
  return joined(std::move(hops));
}

topology::Route route_of(const Hop& hop, const topology::Cluster& cluster) {
  return hop.nic == kOwnNic ? route_between(hop.from, hop.to, cluster, hop.relays) : cluster.route_through_nic(hop.from, hop.to, hop.nic);
}

}  // namespace sim
