#include "topology/cluster.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "topology/routing.hpp"

namespace topology {
namespace {

// The neutral element of append(): nothing narrows it, nothing delays it.
Route empty_route() {
  const base::BytesPerSecond unlimited(std::numeric_limits<double>::infinity());
  return {{}, unlimited, base::Seconds(0), RouteKind::fabric, unlimited};
}

void append(Route& route, LinkId id, const Link& link) {
  route.links.push_back(id);
  route.bandwidth = std::min(route.bandwidth, link.bandwidth);
  route.built = std::min(route.built, link.built);
  route.latency += link.latency;
}

}  // namespace

DeviceKind kind_of(const Device& device) { return {device.type, device.speed, device.slowdown, device.host_slowdown}; }

void Cluster::append_path(Route& route, const Path& path, int node) const {
  const std::uint32_t first = nth(routing_->first_link, node);
  for (const int l : path.links) {
    const LinkId id(first + static_cast<std::uint32_t>(l));
    append(route, id, link(id));
  }
  route.kind = path.kind;
}

int Cluster::Routing::nic_of_node(int node, int nic_of_domain) const {
  const NodeTables& own = tables_of(node);
  const int nic = nic_of_domain - nth(place_in_domain, node) * own.nics;
  BASE_CHECK(nic >= 0 && nic < own.nics && !nth(own.failed_nics, nic), "NIC {} of node {}", nic, node);
  return nic;
}

Cluster Cluster::with_share_of_memory(double share, const std::function<base::Bytes(const Device&)>& memory) const {
  Cluster c = *this;
  for (Device& d : c.devices_) d.memory = (d.memory ? *d.memory : memory(d)) * share;
  return c;
}

int Cluster::nics_per_node(int node) const { return routing_->tables_of(node).nics; }

std::span<const int> Cluster::nics_of(DeviceId d) const {
  const auto& at = device(d);
  const auto& tables = routing_->tables_of(at.node);
  const int place = nth(routing_->place_in_domain, at.node);
  return nth(tables.nics_in_domain, place * tables.gpus + at.index_in_node);
}

int Cluster::node_type(int node) const { return nth(routing_->type_of_node, node); }

int Cluster::wiring(int node) const {
  const ClusterDescription& d = routing_->description;
  const std::size_t type = static_cast<std::size_t>(node_type(node)), sound = d.node_types.size();
  return type < sound || d.faulty[type - sound].type.has_lost_any() ? static_cast<int>(type) : d.type_of(node);
}

bool Cluster::is_between_switches(LinkId l) const { return routing_->network != nullptr && l.value >= routing_->first_network_link; }

bool Cluster::is_alike_everywhere() const {
  const ClusterDescription& d = routing_->description;
  return d.network_faults.empty() && d.network.kind <= NetworkKind::rail;
}

Route Cluster::route(DeviceId from, DeviceId to) const {
  const auto& a = device(from);
  const auto& b = device(to);
  if (a.domain != b.domain) return route_through_nics(from, to, nics_of(from).front(), nics_of(to).front());
  Route route = empty_route();
  if (from == to) return route;
  const auto& tables = routing_->tables_of(a.node);
  if (a.node == b.node) {
    append_path(route, nth(tables.between_gpus, a.index_in_node * tables.gpus + b.index_in_node), a.node);
    return route;
  }
  append_path(route, nth(tables.to_fabric, a.index_in_node), a.node);
  append_path(route, nth(routing_->tables_of(b.node).from_fabric, b.index_in_node), b.node);
  return route;
}

Route Cluster::route_through_nics(DeviceId from, DeviceId to, int nic_from, int nic_to) const {
  const auto& a = device(from);
  const auto& b = device(to);
  BASE_CHECK(a.domain != b.domain, "devices {} and {} are in one domain", from.value, to.value);
  const int out = routing_->nic_of_node(a.node, nic_from), in = routing_->nic_of_node(b.node, nic_to);
  const auto node_a = static_cast<std::size_t>(a.node);
  const auto node_b = static_cast<std::size_t>(b.node);
  const auto& tables_a = routing_->tables_of(a.node);
  const auto& tables_b = routing_->tables_of(b.node);
  Route route = empty_route();
  append_path(route, nth(tables_a.to_nic, a.index_in_node * tables_a.nics + out), a.node);
  const auto add = [&](LinkId id) { append(route, id, link(id)); };
  add(nth(routing_->nics[node_a], out).up);
  const SwitchNetwork& network = *routing_->network;
  const int leaves_at = network.switch_of(a.node, out), enters_at = network.switch_of(b.node, in);
  if (leaves_at != enters_at)
    for (const int l : network.route(leaves_at, enters_at, b.node + in))
      add(LinkId(routing_->first_network_link + static_cast<std::uint32_t>(l)));
  add(nth(routing_->nics[node_b], in).down);
  append_path(route, nth(tables_b.from_nic, b.index_in_node * tables_b.nics + in), b.node);
  route.kind = RouteKind::network;
  return route;
}

std::optional<HostLink> Cluster::host_link(DeviceId d) const {
  const Device& at = device(d);
  return nth(routing_->tables_of(at.node).to_host, at.index_in_node);
}

std::optional<Cluster::SwitchPaths> Cluster::in_network_switch(DeviceId d) const {
  const auto& at = device(d);
  const auto& tables = routing_->tables_of(at.node);
  if (tables.to_switch.empty()) return std::nullopt;
  const Path &up = nth(tables.to_switch, at.index_in_node), &down = nth(tables.from_switch, at.index_in_node);
  if (!up.found || !down.found || up.kind != RouteKind::fabric || down.kind != RouteKind::fabric) return std::nullopt;
  SwitchPaths paths{empty_route(), empty_route()};
  append_path(paths.up, up, at.node);
  append_path(paths.down, down, at.node);
  return paths;
}

}  // namespace topology
