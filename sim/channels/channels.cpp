#include "sim/channels/channels.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/channels/path_search.hpp"

namespace sim {
namespace {

using topology::Cluster;
using topology::DeviceId;

// A further cycle must carry this part of the first's at least: libraries do not mix a slow route through the host with fast wires.
constexpr double kLeastOfFirst = 0.25;
// So many pairs of ends are tried for a path before the best so far is taken.
constexpr int kMostEnds = 12;
// So much quicker relayed cycles must be.
constexpr double kRelayGain = 1.01;
// What earlier channels leave of a link, at least: where all are full, the least loaded is still preferred.
constexpr double kLeastLeft = 0.05;

std::vector<DeviceId> pick(const std::vector<DeviceId>& members, const std::vector<int>& order) {
  std::vector<DeviceId> picked;
  for (const int m : order) picked.push_back(members[static_cast<std::size_t>(m)]);
  return picked;
}

// Members of equal places in nodes of one type take the same orders.
std::vector<int> places_of(const NodeMembers& node, const Cluster& cluster) {
  std::vector<int> places{cluster.node_type(node.node)};
  for (const DeviceId d : node.members) places.push_back(cluster.device(d).index_in_node);
  return places;
}

// Cycles one after another, each over what the ones before leave; then the rates at which they run side by side.
std::vector<NodeOrder> find_cycles(const NodeMembers& node, const Cluster& cluster, int most, Relays relays) {
  const NodeWires wires(node.members, cluster, relays);
  std::vector<double> free = wires.capacity();
  std::vector<NodeOrder> cycles;
  while (static_cast<int>(cycles.size()) < most) {
    NodeOrder next = best_cycle(wires, free);
    if (next.members.empty() || (!cycles.empty() && next.rate < kLeastOfFirst * cycles.front().rate)) break;
    take(free, wires, next);
    cycles.push_back(std::move(next));
  }
  share_fairly(cycles, wires);
  return cycles;
}

double total_rate(const std::vector<NodeOrder>& cycles) {
  double total = 0;
  for (const NodeOrder& o : cycles) total += o.rate;
  return total;
}

// The NIC that a device's usual route leaves by: the one whose route has most links in common with it from the start.
int own_nic(DeviceId device, DeviceId elsewhere, int nics, const Cluster& cluster) {
  const std::vector<topology::LinkId> usual = cluster.route(device, elsewhere).links;
  int best = 0;
  std::ptrdiff_t most = -1;
  for (int nic = 0; nic < nics; ++nic) {
    const std::vector<topology::LinkId> links = cluster.route_through_nic(device, elsewhere, nic).links;
    const std::ptrdiff_t common = std::ranges::mismatch(usual, links).in1 - usual.begin();
    if (common > most) best = nic;
    most = std::max(most, common);
  }
  return best;
}

// The members' own NICs first, then the others; no more than the node with fewest members has members.
std::vector<int> usable_nics(std::span<const NodeMembers> nodes, const Cluster& cluster, int most) {
  std::size_t members = nodes.front().members.size();
  int nics = cluster.nics_per_node(nodes.front().node);
  for (const NodeMembers& n : nodes) {
    members = std::min(members, n.members.size());
    nics = std::min(nics, cluster.nics_per_node(n.node));
  }
  if (members == 1) return {kOwnNic};
  std::vector<int> chosen;
  const auto add = [&](int nic) {
    if (std::ranges::find(chosen, nic) == chosen.end()) chosen.push_back(nic);
  };
  for (const DeviceId d : nodes[0].members) add(own_nic(d, nodes[1].members.front(), nics, cluster));
  for (int nic = 0; nic < nics; ++nic) add(nic);
  chosen.resize(std::min({chosen.size(), members, static_cast<std::size_t>(most)}));
  return chosen;
}

// A device's routes to another node and back through a NIC.
struct NicRoutes {
  topology::Route out, in;
};

topology::Route to_node(DeviceId from, DeviceId to, int nic, const Cluster& cluster) {
  return nic == kOwnNic ? cluster.route(from, to) : cluster.route_through_nic(from, to, nic);
}

// Members by how good a NIC is for them: widest first, then nearest; equals from `first` on, so that each NIC has another.
std::vector<int> rank_by_nic(const std::vector<NicRoutes>& routes, int first) {
  const int n = static_cast<int>(routes.size());
  std::vector<int> ranked;
  for (int m = 0; m < n; ++m) ranked.push_back((m + first) % n);
  std::ranges::stable_sort(ranked, {}, [&](int m) {
    const topology::Route& out = routes[static_cast<std::size_t>(m)].out;
    return std::tuple(-out.bandwidth.value(), out.links.size());
  });
  return ranked;
}

// The best path through all members between two of those that the NIC is good for.
NodeOrder find_path(const NodeWires& wires, const std::vector<double>& free, const std::vector<NicRoutes>& routes,
                    const std::vector<int>& ranked) {
  NodeOrder best;
  int tried = 0;
  for (std::size_t sum = 1; sum + 2 < 2 * ranked.size(); ++sum)  // ends by rank: (0,1), (0,2), (0,3), (1,2), ...
    for (std::size_t entry = 0; 2 * entry < sum; ++entry) {
      const std::size_t exit = sum - entry;
      if (exit >= ranked.size()) continue;
      const topology::Route& in = routes[static_cast<std::size_t>(ranked[entry])].in;
      const topology::Route& out = routes[static_cast<std::size_t>(ranked[exit])].out;
      std::vector<int> crossings(free.size());  // the route from and to the NIC counts too
      for (const topology::Route* r : {&in, &out})
        for (const topology::LinkId l : r->links)
          if (const int i = wires.local(l); i >= 0) ++crossings[static_cast<std::size_t>(i)];
      const double cap = std::min(in.bandwidth, out.bandwidth).value();
      if (cap > best.rate) {
        NodeOrder order = best_path(wires, free, crossings, ranked[entry], ranked[exit], cap);
        if (order.rate > best.rate) best = std::move(order);
      }
      if (++tried == kMostEnds) return best;
    }
  return best;
}

// Paths through the members of one node, one per NIC.
std::vector<std::vector<int>> find_paths(const NodeMembers& node, DeviceId elsewhere, const std::vector<int>& nics,
                                         const Cluster& cluster) {
  if (node.members.size() == 1) return std::vector<std::vector<int>>(nics.size(), {0});
  const NodeWires wires(node.members, cluster, Relays::none);
  std::vector<double> free = wires.capacity();
  std::vector<std::vector<int>> paths;
  for (const int nic : nics) {
    std::vector<NicRoutes> routes;
    for (const DeviceId d : node.members) routes.push_back({to_node(d, elsewhere, nic, cluster), to_node(elsewhere, d, nic, cluster)});
    const NodeOrder path = find_path(wires, free, routes, rank_by_nic(routes, static_cast<int>(paths.size())));
    take(free, wires, path);
    for (std::size_t l = 0; l < free.size(); ++l) free[l] = std::max(free[l], kLeastLeft * wires.capacity()[l]);
    paths.push_back(path.members);
  }
  return paths;
}

}  // namespace

std::vector<NodeMembers> by_node(std::span<const DeviceId> group, const Cluster& cluster) {
  std::vector<DeviceId> sorted(group.begin(), group.end());
  std::ranges::sort(sorted);
  std::vector<NodeMembers> nodes;
  for (const DeviceId d : sorted) {
    if (nodes.empty() || nodes.back().node != cluster.device(d).node) nodes.push_back({cluster.device(d).node, {}});
    nodes.back().members.push_back(d);
  }
  return nodes;
}

std::vector<Channel> find_channels(std::span<const NodeMembers> nodes, const Cluster& cluster, int most, Relays relays) {
  std::vector<Channel> channels;
  if (nodes.size() == 1) {
    std::vector<NodeOrder> cycles = find_cycles(nodes[0], cluster, most, Relays::none);
    Relays used = Relays::none;
    if (relays != Relays::none) {
      std::vector<NodeOrder> others = find_cycles(nodes[0], cluster, most, relays);
      if (total_rate(others) > kRelayGain * total_rate(cycles)) {
        cycles = std::move(others);
        used = relays;
      }
    }
    const double total = total_rate(cycles);
    for (const NodeOrder& o : cycles) channels.push_back({kOwnNic, o.rate / total, used, {pick(nodes[0].members, o.members)}});
    return channels;
  }
  const std::vector<int> nics = usable_nics(nodes, cluster, most);
  for (const int nic : nics) channels.push_back({nic, 1.0 / static_cast<double>(nics.size()), Relays::none, {}});
  std::map<std::vector<int>, std::vector<std::vector<int>>> known;  // by places
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto [at, is_new] = known.try_emplace(places_of(nodes[i], cluster));
    if (is_new) at->second = find_paths(nodes[i], nodes[i == 0 ? 1 : 0].members.front(), nics, cluster);
    for (std::size_t c = 0; c < nics.size(); ++c) channels[c].path.push_back(pick(nodes[i].members, at->second[c]));
  }
  return channels;
}

}  // namespace sim
