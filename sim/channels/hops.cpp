#include "sim/channels/hops.hpp"

#include <algorithm>
#include <tuple>

namespace sim {
namespace {

auto ends_of(const Hop& h) { return std::tuple(h.from, h.to, h.nic_from, h.nic_to); }

// A node's path as the ring takes it.
NodePath as_passed(const NodePath& path, std::size_t node) {
  if (node % 2 == 0) return path;
  return {{path.members.rbegin(), path.members.rend()}, path.last_nic, path.first_nic};
}

}  // namespace

std::vector<Hop> joined(std::vector<Hop> hops) {
  std::ranges::sort(hops, {}, ends_of);
  std::vector<Hop> out;
  for (const Hop& h : hops) {
    // Two channels over one pair of devices and one pair of NICs are one flow: fewer flows for the engine, and the same share.
    if (!out.empty() && ends_of(out.back()) == ends_of(h)) out.back().share += h.share;
    else out.push_back(h);
  }
  return out;
}

std::vector<Hop> ring_hops(std::span<const Channel> channels) {
  std::vector<Hop> hops;
  for (const Channel& c : channels) {
    std::vector<NodePath> path;
    for (std::size_t i = 0; i < c.path.size(); ++i) path.push_back(as_passed(c.path[i], i));
    for (std::size_t i = 0; i < path.size(); ++i) {
      const NodePath &here = path[i], &next = path[(i + 1) % path.size()];
      for (std::size_t j = 0; j + 1 < here.members.size(); ++j)
        hops.push_back({here.members[j], here.members[j + 1], 0, 0, c.share, c.relays});
      const bool leaves = path.size() > 1;
      hops.push_back(
          {here.members.back(), next.members.front(), leaves ? here.last_nic : 0, leaves ? next.first_nic : 0, c.share, c.relays});
    }
  }
  return joined(std::move(hops));
}

topology::Route route_of(const Hop& hop, const topology::Cluster& cluster) {
  if (cluster.device(hop.from).domain == cluster.device(hop.to).domain) return route_between(hop.from, hop.to, cluster, hop.relays);
  return cluster.route_through_nics(hop.from, hop.to, hop.nic_from, hop.nic_to);
}

}  // namespace sim
