#include "topology/cluster.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "topology/routing.hpp"

namespace topology {
namespace {

// The neutral element of append(): nothing narrows it, nothing delays it.
Route empty_route() { return {{}, base::BytesPerSecond(std::numeric_limits<double>::infinity()), base::Seconds(0)}; }

// Appends a path inside a node, whose links start at `first_link`.
void append(Route& route, const Path& path, std::uint32_t first_link) {
  for (const int link : path.links) route.links.emplace_back(first_link + static_cast<std::uint32_t>(link));
  route.bandwidth = std::min(route.bandwidth, base::BytesPerSecond(path.bandwidth));
  route.latency += base::Seconds(path.latency);
  route.kind = path.kind;
}

void append(Route& route, LinkId id, const Link& link) {
  route.links.push_back(id);
  route.bandwidth = std::min(route.bandwidth, link.bandwidth);
  route.latency += link.latency;
}

}  // namespace

int Cluster::nics_per_node(int node) const { return routing_->tables_of(node).nics; }

std::span<const int> Cluster::nics_of(DeviceId d) const {
  return routing_->tables_of(device(d).node).nics_of_gpu[static_cast<std::size_t>(device(d).index_in_node)];
}

int Cluster::node_type(int node) const { return routing_->type_of_node[static_cast<std::size_t>(node)]; }

Route Cluster::route(DeviceId from, DeviceId to) const {
  const auto& a = device(from);
  const auto& b = device(to);
  if (a.node != b.node) {
    const auto& tables_a = routing_->tables_of(a.node);
    const auto& tables_b = routing_->tables_of(b.node);
    return route_through_nics(from, to, tables_a.nics_of_gpu[static_cast<std::size_t>(a.index_in_node)].front(),
                              tables_b.nics_of_gpu[static_cast<std::size_t>(b.index_in_node)].front());
  }
  Route route = empty_route();
  if (from == to) return route;
  const auto& tables = routing_->tables_of(a.node);
  append(route, tables.between_gpus[static_cast<std::size_t>(a.index_in_node * tables.gpus + b.index_in_node)],
         routing_->first_link[static_cast<std::size_t>(a.node)]);
  return route;
}

Route Cluster::route_through_nics(DeviceId from, DeviceId to, int nic_from, int nic_to) const {
  const auto& a = device(from);
  const auto& b = device(to);
  BASE_CHECK(a.node != b.node, "devices {} and {} are in one node", from.value, to.value);
  BASE_CHECK(nic_from >= 0 && nic_from < nics_per_node(a.node) && nic_to >= 0 && nic_to < nics_per_node(b.node),
             "NICs {} and {} of nodes {} and {}", nic_from, nic_to, a.node, b.node);
  const auto node_a = static_cast<std::size_t>(a.node);
  const auto node_b = static_cast<std::size_t>(b.node);
  const auto& tables_a = routing_->tables_of(a.node);
  const auto& tables_b = routing_->tables_of(b.node);
  Route route = empty_route();
  append(route, tables_a.to_nic[static_cast<std::size_t>(a.index_in_node * tables_a.nics + nic_from)], routing_->first_link[node_a]);
  const auto add = [&](LinkId id) { append(route, id, link(id)); };
  add(routing_->nics[node_a][static_cast<std::size_t>(nic_from)].up);
  const int group_a = routing_->group_of(a.node, nic_from);
  const int group_b = routing_->group_of(b.node, nic_to);
  if (!routing_->groups.empty() && group_a != group_b) {  // within a leaf or a rail a message never climbs above it
    add(routing_->groups[static_cast<std::size_t>(group_a)].up);
    add(routing_->groups[static_cast<std::size_t>(group_b)].down);
  }
  add(routing_->nics[node_b][static_cast<std::size_t>(nic_to)].down);
  append(route, tables_b.from_nic[static_cast<std::size_t>(b.index_in_node * tables_b.nics + nic_to)], routing_->first_link[node_b]);
  route.kind = RouteKind::network;
  return route;
}

std::optional<Cluster::SwitchPaths> Cluster::in_network_switch(DeviceId d) const {
  const auto& at = device(d);
  const auto& tables = routing_->tables_of(at.node);
  if (tables.to_switch.empty()) return std::nullopt;
  const auto gpu = static_cast<std::size_t>(at.index_in_node);
  if (!tables.to_switch[gpu].found || !tables.from_switch[gpu].found) return std::nullopt;
  SwitchPaths paths{empty_route(), empty_route()};
  append(paths.up, tables.to_switch[gpu], routing_->first_link[static_cast<std::size_t>(at.node)]);
  append(paths.down, tables.from_switch[gpu], routing_->first_link[static_cast<std::size_t>(at.node)]);
  return paths;
}

}  // namespace topology
