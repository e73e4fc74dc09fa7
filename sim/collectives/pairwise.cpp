#include "base/check.hpp"
#include "sim/channels/routes.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/slowest_hop.hpp"

namespace sim {

// All-to-all: 1/n of each rank's buffer to every other, all at once, or in n-1 steps in which rank i sends to rank i + step.
std::optional<Collective> plan_pairwise(const CollectiveRequest& r) {
  Collective c{Algorithm::pairwise, 1, {}, {}};
  const std::size_t n = r.group.size();
  if (r.kind == CollectiveKind::send) {
    BASE_CHECK(n == 2, "a send among {} devices", n);
    topology::Route route = route_between(r.group[0], r.group[1], r.cluster, r.relays);
    const RouteClassId route_class = r.route_classes.of(route);
    c.phases.push_back({{}, {{r.group[0], r.group[1], std::move(route.links), r.bytes, route_class}}, {{route_class, 1}}});
    return c;
  }
  if (r.kind != CollectiveKind::all_to_all) return std::nullopt;
  const bool in_steps = r.step_by_step;
  c.phases.resize(in_steps ? n - 1 : 1);
  std::vector<SlowestHop> slowest(c.phases.size(), SlowestHop(r.route_classes));
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t phase = in_steps ? step - 1 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      topology::Route route = route_between(r.group[i], r.group[(i + step) % n], r.cluster, r.relays);
      const RouteClassId route_class = r.route_classes.of(route);
      slowest[phase].see(route_class);
      c.phases[phase].flows.push_back(
          {r.group[i], r.group[(i + step) % n], std::move(route.links), r.bytes / static_cast<double>(n), route_class});
    }
  }
  for (std::size_t phase = 0; phase < c.phases.size(); ++phase) slowest[phase].add_to(c.phases[phase].chain, 1);
  return c;
}

}  // namespace sim
