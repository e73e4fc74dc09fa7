#include "sim/collectives/plan_collective.hpp"

#include <algorithm>
#include <map>

namespace sim {

TaskGraph collective_graph(std::span<const Collective> collectives, const topology::Cluster& cluster) {
  TaskGraph g;
  std::map<topology::LinkId, std::uint32_t> links;
  std::map<std::vector<topology::LinkId>, std::uint32_t> routes;
  const auto route_of = [&](const std::vector<topology::LinkId>& over) {
    const auto [at, is_new] = routes.try_emplace(over, static_cast<std::uint32_t>(g.routes.size()));
    if (!is_new) return at->second;
    std::vector<WeightedLink>& route = g.routes.emplace_back();
    for (const topology::LinkId l : over) {
      const auto [link, is_new_link] = links.try_emplace(l, static_cast<std::uint32_t>(g.links.size()));
      if (is_new_link) g.links.push_back(cluster.link(l).bandwidth);
      // The engine wants each link once in a route.
      const auto before = std::ranges::find(route, link->second, &WeightedLink::link);  // a half-duplex link, there and back
      if (before == route.end()) route.push_back({link->second, 1});
      else before->weight += 1;
    }
    return at->second;
  };
  for (const Collective& c : collectives) {
    Step step{{}, StepKind::transfer};
    for (const CollectivePhase& p : c.phases) {
      step.phases.push_back({p.latency, {}});
      for (const CollectiveFlow& f : p.flows) step.phases.back().flows.push_back({route_of(f.links), f.on_wire()});
    }
    g.steps.push_back(std::move(step));
    g.add(static_cast<std::uint32_t>(g.steps.size() - 1), {}, {});
  }
  return g;
}

}  // namespace sim
