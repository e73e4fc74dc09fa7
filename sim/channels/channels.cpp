#include "sim/channels/channels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/channels/path_search.hpp"

namespace sim {
namespace {

using topology::Cluster;
using topology::DeviceId;
using topology::RouteKind;

// Pairs of ends that are tried for a path before the best so far is taken.
constexpr int kMostEnds = 12;
// How much quicker relays, or a further cycle, must make all cycles together: less is rounding.
constexpr double kGain = 1.01;
// The least share that earlier channels leave of a link: where all are full, the least loaded is still preferred.
constexpr double kLeastLeft = 0.05;

std::vector<DeviceId> pick(const std::vector<DeviceId>& members, const std::vector<int>& order) {
  std::vector<DeviceId> picked;
  for (const int m : order) picked.push_back(members[static_cast<std::size_t>(m)]);
  return picked;
}

// Members of equal places in nodes of one wiring take the same orders: per member the host's wiring and the places in host and domain.
using Places = std::vector<std::array<int, 3>>;

Places places_of(const NodeMembers& node, const Cluster& cluster) {
  Places places;
  for (const DeviceId d : node.members) {
    const topology::Device& device = cluster.device(d);
    places.push_back({cluster.wiring(device.node), device.index_in_node, device.index_in_domain});
  }
  return places;
}

double total_rate(const std::vector<NodeOrder>& cycles) {
  return std::accumulate(cycles.begin(), cycles.end(), 0.0, [](double sum, const NodeOrder& o) { return sum + o.rate; });
}

// Cycles one after another, each over what the ones before leave, with the rates at which they run side by side, as long as one more makes
// all of them together quicker.
std::vector<NodeOrder> find_cycles(const NodeMembers& node, const Cluster& cluster, int most, Relays relays) {
  NodeWires wires(node.members, cluster, relays);
  keep_to_nearest_cycle(wires);
  std::vector<double> free = wires.capacity();
  std::vector<NodeOrder> cycles;
  while (static_cast<int>(cycles.size()) < most) {
    const NodeOrder next = best_cycle(wires, free);
    if (next.members.empty()) break;
    take(free, wires, next);
    std::vector<NodeOrder> with_next = cycles;
    with_next.push_back(next);
    share_fairly(with_next, wires);
    if (total_rate(with_next) <= kGain * total_rate(cycles)) break;
    cycles = std::move(with_next);
  }
  return cycles;
}

// A NIC that some members of a node own. Members by number.
struct Port {
  std::size_t layer = 0;  // its place among the NICs that its owners own
  int nic = 0;
  std::vector<int> owners;
  [[nodiscard]] std::pair<std::size_t, int> key() const { return {layer, nic}; }
};

// By layer and NIC, so that neighbours have different owners where there are several.
std::vector<Port> ports_of(const NodeMembers& node, const Cluster& cluster) {
  std::map<std::pair<std::size_t, int>, Port> ports;
  for (int m = 0; m < static_cast<int>(node.members.size()); ++m) {
    const std::span<const int> own = cluster.nics_of(node.members[static_cast<std::size_t>(m)]);
    for (std::size_t layer = 0; layer < own.size(); ++layer) {
      Port& p = ports.try_emplace({layer, own[layer]}, Port{layer, own[layer], {}}).first->second;
      p.owners.push_back(m);
    }
  }
  std::vector<Port> sorted;
  for (auto& [key, port] : ports) sorted.push_back(std::move(port));
  return sorted;
}

// The ports of nodes of each wiring, in an order in which equal numbers talk to each other: first those that every node has, so that these
// stay on their rails; as many as the node with fewest has.
using Wirings = std::map<Places, std::vector<Port>>;  // by places

void match_ports(Wirings& wirings) {
  std::map<std::pair<std::size_t, int>, std::size_t> nodes_with;
  std::size_t fewest = wirings.begin()->second.size();
  for (const auto& [places, ports] : wirings) {
    fewest = std::min(fewest, ports.size());
    for (const Port& p : ports) ++nodes_with[p.key()];
  }
  for (auto& [places, ports] : wirings) {
    std::ranges::stable_partition(ports, [&](const Port& p) { return nodes_with.at(p.key()) == wirings.size(); });
    ports.resize(fewest);
  }
}

// Owners of ports that have one, in the order in which the widest cycle of a node passes them.
std::vector<std::size_t> along_cycle(std::vector<std::size_t> ports, const NodeMembers& node, const std::vector<Port>& of_node,
                                     const Cluster& cluster) {
  const NodeWires wires(node.members, cluster, Relays::none);
  const std::vector<int> cycle = best_cycle(wires, wires.capacity()).members;
  const auto place = [&](std::size_t p) { return std::ranges::find(cycle, of_node[p].owners.front()) - cycle.begin(); };
  std::ranges::stable_sort(ports, {}, [&](std::size_t p) { return std::pair(of_node[p].layer, place(p)); });
  return ports;
}

// By which port a channel that enters by each port leaves: by the same one where every node has two members at it. Else two neighbours of a
// node's cycle take turns, so that one channel goes round it and the other back: a path through several members has two ends.
std::vector<std::size_t> exits_of(std::span<const NodeMembers> nodes, const Wirings& wirings, const Cluster& cluster) {
  const std::size_t ports = wirings.begin()->second.size();
  std::vector<std::size_t> exits(ports), turning;
  for (std::size_t p = 0; p < ports; ++p) {
    exits[p] = p;
    if (std::ranges::any_of(wirings, [&](const auto& w) { return w.first.size() > 1 && w.second[p].owners.size() == 1; }))
      turning.push_back(p);
  }
  for (std::size_t p = 0; turning.size() == 1 && p < ports; ++p)
    if (p != turning.front()) turning.push_back(p);  // any other turns with it
  const auto node = std::ranges::max_element(nodes, {}, [](const NodeMembers& n) { return n.members.size(); });
  if (node->members.size() > 1) turning = along_cycle(std::move(turning), *node, wirings.at(places_of(*node, cluster)), cluster);
  for (std::size_t i = 0; i < turning.size();) {
    const std::size_t together = turning.size() - i == 3 ? 3 : std::min<std::size_t>(2, turning.size() - i);
    for (std::size_t k = 0; k < together; ++k) exits[turning[i + k]] = turning[i + (k + 1) % together];
    i += together;
  }
  return exits;
}

// The paths of one node's channels, one after another over what the ones before leave of its wires.
class NodePaths {
 public:
  NodePaths(const NodeMembers& node, DeviceId elsewhere, const Cluster& cluster)
      : node_(node), elsewhere_(elsewhere), cluster_(cluster), wires_(node.members, cluster, Relays::none), free_(wires_.capacity()) {
    if (wires_.size() > 1) keep_to_nearest_cycle(wires_);
  }

  NodePath between(const Port& in, const Port& out) {
    if (node_.members.size() == 1) return {node_.members, in.nic, out.nic};
    const RouteKind nearest = wires_.furthest();
    NodeOrder best = widest(in, out);
    for (const RouteKind kind : kKindsInside) {  // a cycle does not give a path between any two ends
      if (!best.members.empty()) break;
      wires_.keep_to(kind);
      best = widest(in, out);
    }
    wires_.keep_to(nearest);
    take(free_, wires_, best);
    for (std::size_t l = 0; l < free_.size(); ++l) free_[l] = std::max(free_[l], kLeastLeft * wires_.capacity()[l]);
    return {pick(node_.members, best.members), nic_of(best.members.front(), in), nic_of(best.members.back(), out)};
  }

 private:
  [[nodiscard]] NodeOrder widest(const Port& in, const Port& out) const {
    NodeOrder best;
    int tried = 0;
    for (const int entry : in.owners)
      for (const int exit : exits_from(entry, out)) {
        if (tried++ == kMostEnds) break;
        NodeOrder order = path(entry, nic_of(entry, in), exit, nic_of(exit, out), best.rate);
        if (order.rate > best.rate) best = std::move(order);
      }
    return best;
  }
  // Another member than the entry: an owner of the port, or where there is none any.
  [[nodiscard]] std::vector<int> exits_from(int entry, const Port& out) const {
    std::vector<int> exits = out.owners;
    std::erase(exits, entry);
    for (int m = 0; exits.empty() && m < wires_.size(); ++m)
      if (m != entry) exits.push_back(m);
    return exits;
  }
  [[nodiscard]] DeviceId device(int member) const { return node_.members[static_cast<std::size_t>(member)]; }
  // The port's NIC, where the member owns it; else its first.
  [[nodiscard]] int nic_of(int member, const Port& port) const {
    const bool is_owner = std::ranges::find(port.owners, member) != port.owners.end();
    return is_owner ? port.nic : cluster_.nics_of(device(member)).front();
  }
  // Between two members with the routes from and to their NICs; nothing where it cannot be wider than `least`.
  [[nodiscard]] NodeOrder path(int entry, int nic_in, int exit, int nic_out, double least) const {
    const int far = cluster_.nics_of(elsewhere_).front();
    const topology::Route in = cluster_.route_through_nics(elsewhere_, device(entry), far, nic_in);
    const topology::Route out = cluster_.route_through_nics(device(exit), elsewhere_, nic_out, far);
    const double cap = std::min(in.built, out.built).value();
    if (cap <= least) return {};
    std::vector<int> crossings(free_.size());
    for (const topology::Route* r : {&in, &out})
      for (const topology::LinkId l : r->links)
        if (const int i = wires_.local(l); i >= 0) ++crossings[static_cast<std::size_t>(i)];
    return best_path(wires_, free_, crossings, entry, exit, cap);
  }

  const NodeMembers& node_;
  DeviceId elsewhere_;
  const Cluster& cluster_;
  NodeWires wires_;
  std::vector<double> free_;
};

std::vector<Channel> find_cycle_channels(const NodeMembers& node, const Cluster& cluster, int most, Relays relays) {
  std::vector<NodeOrder> cycles = find_cycles(node, cluster, most, Relays::none);
  Relays used = Relays::none;
  if (relays != Relays::none) {
    std::vector<NodeOrder> others = find_cycles(node, cluster, most, relays);
    if (total_rate(others) > kGain * total_rate(cycles)) {
      cycles = std::move(others);
      used = relays;
    }
  }
  const double total = total_rate(cycles);
  std::vector<Channel> channels;
  for (const NodeOrder& o : cycles) channels.push_back({o.rate / total, used, {{pick(node.members, o.members)}}});
  return channels;
}

// The path of a node like `like` with the members of `node` in the same places.
NodePath moved(const NodePath& path, const NodeMembers& like, const NodeMembers& node) {
  NodePath out{{}, path.first_nic, path.last_nic};
  for (const DeviceId d : path.members)
    out.members.push_back(node.members[static_cast<std::size_t>(std::ranges::lower_bound(like.members, d) - like.members.begin())]);
  return out;
}

auto similarity_of(const Hop& h) { return std::tuple(h.from, h.to, h.nic_from, h.nic_to, h.share); }

// A node's path as the ring takes it.
NodePath as_passed(const NodePath& path, std::size_t node) {
  if (node % 2 == 0) return path;
  return {{path.members.rbegin(), path.members.rend()}, path.last_nic, path.first_nic};
}

}  // namespace

std::vector<NodeMembers> by_node(std::span<const DeviceId> group, const Cluster& cluster) {
  std::vector<DeviceId> sorted(group.begin(), group.end());
  std::ranges::sort(sorted);
  std::vector<NodeMembers> nodes;
  for (const DeviceId d : sorted) {
    const int domain = cluster.device(d).domain;
    if (nodes.empty() || nodes.back().domain != domain) nodes.push_back({domain, {}});
    nodes.back().members.push_back(d);
  }
  return nodes;
}

std::vector<Channel> find_channels(std::span<const NodeMembers> nodes, const Cluster& cluster, int most, Relays relays) {
  if (nodes.size() == 1) return find_cycle_channels(nodes[0], cluster, most, relays);
  Wirings wirings;
  std::vector<Wirings::iterator> wiring_of;
  for (const NodeMembers& n : nodes) {
    const auto [at, is_new] = wirings.try_emplace(places_of(n, cluster));
    if (is_new) at->second = ports_of(n, cluster);
    wiring_of.push_back(at);
  }
  match_ports(wirings);
  const std::vector<std::size_t> exits = exits_of(nodes, wirings, cluster);
  const std::size_t count = std::min(exits.size(), static_cast<std::size_t>(most));
  std::vector<Channel> channels(count, Channel{1.0 / static_cast<double>(count), Relays::none, {}});
  std::map<const std::vector<Port>*, std::size_t> first_of;  // by wiring: the first node of it
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<Port>& ports = wiring_of[i]->second;
    const auto [first, is_new] = first_of.try_emplace(&ports, i);
    if (is_new) {
      NodePaths paths(nodes[i], nodes[i == 0 ? 1 : 0].members.front(), cluster);
      for (std::size_t c = 0; c < count; ++c) channels[c].path.push_back(paths.between(ports[c], ports[exits[c]]));
    } else {
      for (Channel& c : channels) c.path.push_back(moved(c.path[first->second], nodes[first->second], nodes[i]));
    }
  }
  return channels;
}

std::vector<Hop> joined(std::vector<Hop> hops) {
  std::ranges::sort(hops, {}, similarity_of);
  std::vector<Hop> out;
  for (const Hop& h : hops) {
    if (!out.empty() && similarity_of(out.back()) == similarity_of(h)) out.back().copies += h.copies;
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
