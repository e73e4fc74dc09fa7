// Through a switch that reduces, and straight from each to each.

#include <algorithm>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// Half of every local rank's part over each of two trees over the nodes, up and down.
void add_trees_across(const CollectiveRequest& r, CollectivePhase& phase) {
  const TwoTrees trees = double_binary_tree(static_cast<int>(r.nodes.size()));
  const double part = 0.5 / static_cast<double>(r.nodes.front().members.size());
  SlowestWay between(r.ways);
  const auto send = [&](topology::DeviceId from, topology::DeviceId to) {
    topology::Route route = r.cluster.route(from, to);
    const std::uint32_t way = r.ways.of(route);
    between.see(way);
    phase.flows.push_back({from, to, std::move(route.links), r.bytes * part, way});
  };
  for (const std::vector<int>* parent : {&trees.first, &trees.second})
    for (std::size_t node = 0; node < parent->size(); ++node) {
      if ((*parent)[node] < 0) continue;
      const NodeMembers& above = r.nodes[static_cast<std::size_t>((*parent)[node])];
      for (std::size_t rank = 0; rank < above.members.size(); ++rank) {
        send(r.nodes[node].members[rank], above.members[rank]);
        send(above.members[rank], r.nodes[node].members[rank]);
      }
    }
  between.add_to(phase.chain, 2.0 * trees.height);
}

}  // namespace

// NVLink SHARP. Every GPU of a node reduces 1/n of the buffer: it reads it through the switch, which asks all n GPUs for their part and
// returns the sum, and writes the sum through the switch, which hands it to all n. Each GPU thus sends n parts when others (and itself)
// read, and one when it writes; it receives one sum that it reads and n that are written: S (n+1)/n each way. On the wire the two halves
// overlap; the latencies of a read and a write add. A flow here is up from one GPU and down to the next: every wire has its load once.
// Over several nodes (NVLSTree) the part that a GPU has reduced goes up and down two trees over the nodes before it writes it.
std::optional<Collective> plan_in_switch(const CollectiveRequest& r) {
  if (r.kind != CollectiveKind::all_reduce) return std::nullopt;
  const std::size_t n = r.nodes.front().members.size();
  if (r.nodes.size() > 1 && n < 2) return std::nullopt;
  if (!std::ranges::all_of(r.nodes, [&](const NodeMembers& node) { return node.members.size() == n; })) return std::nullopt;
  CollectivePhase phase;
  SlowestWay inside(r.ways);
  for (const NodeMembers& node : r.nodes) {
    std::vector<topology::Cluster::SwitchPaths> paths;
    for (const topology::DeviceId d : node.members) {
      std::optional<topology::Cluster::SwitchPaths> p = r.cluster.in_network_switch(d);
      if (!p) return std::nullopt;
      paths.push_back(std::move(*p));
    }
    for (std::size_t i = 0; i < n; ++i) {
      topology::Route through = paths[i].up;
      const topology::Route& down = paths[(i + 1) % n].down;
      through.links.insert(through.links.end(), down.links.begin(), down.links.end());
      through.latency += down.latency;
      through.bandwidth = std::min(through.bandwidth, down.bandwidth);
      const std::uint32_t way = r.ways.of(through);
      inside.see(way);
      phase.flows.push_back({node.members[i], node.members[(i + 1) % n], std::move(through.links),
                             r.bytes * (static_cast<double>(n + 1) / static_cast<double>(n)), way});
    }
  }
  inside.add_to(phase.chain, 2);
  if (r.nodes.size() > 1) add_trees_across(r, phase);
  return Collective{Algorithm::in_switch, 1, {std::move(phase)}, {}};
}

// All-to-all: 1/n of each rank's buffer to every other, all at once, or in n-1 steps in which rank i sends to rank i + step.
std::optional<Collective> plan_pairwise(const CollectiveRequest& r) {
  Collective c{Algorithm::pairwise, 1, {}, {}};
  const std::size_t n = r.group.size();
  if (r.kind == CollectiveKind::send) {
    BASE_CHECK(n == 2, "a send among {} devices", n);
    topology::Route route = route_between(r.group[0], r.group[1], r.cluster, r.relays);
    const std::uint32_t way = r.ways.of(route);
    c.phases.push_back({{}, {{r.group[0], r.group[1], std::move(route.links), r.bytes, way}}, {{way, 1}}});
    return c;
  }
  if (r.kind != CollectiveKind::all_to_all) return std::nullopt;
  c.phases.resize(r.step_by_step ? n - 1 : 1);
  std::vector<SlowestWay> slowest(c.phases.size(), SlowestWay(r.ways));
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t phase = r.step_by_step ? step - 1 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      topology::Route route = route_between(r.group[i], r.group[(i + step) % n], r.cluster, r.relays);
      const std::uint32_t way = r.ways.of(route);
      slowest[phase].see(way);
      c.phases[phase].flows.push_back({r.group[i], r.group[(i + step) % n], std::move(route.links), r.bytes / static_cast<double>(n), way});
    }
  }
  for (std::size_t phase = 0; phase < c.phases.size(); ++phase) slowest[phase].add_to(c.phases[phase].chain, 1);
  return c;
}

}  // namespace sim
