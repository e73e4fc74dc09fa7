#include "sim/collectives/collective_cost.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// Leaves out links that are no busier than another over any route class.
void keep_busiest(std::vector<std::vector<double>>& loads) {
  std::ranges::sort(loads, std::greater<>());
  std::vector<std::vector<double>> kept;
  for (std::vector<double>& load : loads) {
    const auto covers = [&](const std::vector<double>& k) { return std::ranges::equal(k, load, std::greater_equal<>()); };
    if (std::ranges::none_of(kept, covers)) kept.push_back(std::move(load));
  }
  loads = std::move(kept);
}

}  // namespace

CollectiveShape ShapeFinder::find(CollectiveKind kind, int ranks, const Collective& plan, std::span<const RouteClass> route_classes) {
  const std::size_t width = route_classes.size();
  CollectiveShape s{kind, plan.algorithm, ranks, {route_classes.begin(), route_classes.end()}, std::vector<bool>(width, false), {}};
  if (const std::size_t needed = cluster_.links().size() * width; seconds_.size() < needed) seconds_.resize(needed, 0);
  for (const CollectivePhase& p : plan.phases) {
    PhaseShape& shape = s.phases.emplace_back(PhaseShape{p.chain, {}});
    for (const Hops& h : p.chain) s.used[h.route_class.value] = true;
    for (const CollectiveFlow& f : p.flows) {
      s.used[f.route_class.value] = true;
      for (const topology::LinkId l : f.links)
        seconds_[l.value * width + f.route_class.value] += (f.bytes / cluster_.link(l).bandwidth).value();
    }
    // Most links of a regular cluster carry the same: each load is kept once.
    std::set<std::vector<double>> distinct;
    for (const CollectiveFlow& f : p.flows)
      for (const topology::LinkId l : f.links) {
        double* const load = seconds_.data() + l.value * width;
        if (std::all_of(load, load + width, [](double x) { return x == 0; })) continue;  // seen
        distinct.emplace(load, load + width);
        std::fill(load, load + width, 0);
      }
    shape.loads.assign(distinct.begin(), distinct.end());
    keep_busiest(shape.loads);
  }
  return s;
}

std::vector<CollectiveShape> collective_shapes(CollectiveKind kind, std::span<const topology::DeviceId> group,
                                               const topology::Cluster& cluster, Relays relays) {
  const std::vector<NodeMembers> nodes = by_node(group, cluster);
  RouteClasses route_classes(cluster);
  const CollectiveRequest request{kind, base::Bytes(1), {}, group, nodes, cluster, false, true, relays, route_classes, {}};
  ShapeFinder finder(cluster);
  std::vector<CollectiveShape> shapes;
  for (const Algorithm a : kAlgorithms)
    for (const int channels : {kMostChannels, 1})
      if (const std::optional<Collective> c = plan_with(a, request, channels); c && (channels > 1 || nodes.size() > 1))
        shapes.push_back(finder.find(kind, static_cast<int>(group.size()), *c, route_classes.all()));
  return shapes;
}

}  // namespace sim
