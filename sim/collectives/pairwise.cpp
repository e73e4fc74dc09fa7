#include <algorithm>

#include "base/check.hpp"
#include "sim/channels/channels.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// The members of the node of each device of the group.
class Neighbours {
 public:
  explicit Neighbours(const CollectiveRequest& r) : r_(r) {}
  [[nodiscard]] std::span<const topology::DeviceId> of(topology::DeviceId d) const {
    return std::ranges::lower_bound(r_.nodes, r_.cluster.device(d).domain, {}, &NodeMembers::domain)->members;
  }

 private:
  const CollectiveRequest& r_;
};

void send(const CollectiveRequest& r, const Neighbours& neighbours, topology::DeviceId from, topology::DeviceId to, base::Bytes bytes,
          CollectivePhase& phase, SlowestHop& slowest) {
  std::vector<topology::Route> routes = message_routes(from, to, neighbours.of(from), r.cluster, r.relays);
  for (topology::Route& route : routes) {
    const RouteClassId route_class = r.route_classes.of(route);
    slowest.see(route_class);
    phase.flows.push_back({from, to, std::move(route.links), bytes / static_cast<double>(routes.size()), route_class});
  }
}

}  // namespace

// All-to-all: 1/n of each rank's buffer to every other, all at once, or in n-1 steps in which rank i sends to rank i + step.
std::optional<Collective> plan_pairwise(const CollectiveRequest& r) {
  Collective c{Algorithm::pairwise, 1, {}, {}};
  const Neighbours neighbours(r);
  const std::size_t n = r.group.size();
  if (r.kind == CollectiveKind::send) {
    BASE_CHECK(n == 2, "a send among {} devices", n);
    c.phases.resize(1);
    SlowestHop slowest(r.route_classes);
    send(r, neighbours, r.group[0], r.group[1], r.bytes, c.phases[0], slowest);
    slowest.add_to(c.phases[0].chain, 1);
    return c;
  }
  if (r.kind != CollectiveKind::all_to_all || r.forwarding.copies > 0) return std::nullopt;
  const bool in_steps = r.step_by_step;
  c.phases.resize(in_steps ? n - 1 : 1);
  std::vector<SlowestHop> slowest(c.phases.size(), SlowestHop(r.route_classes));
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t phase = in_steps ? step - 1 : 0;
    for (std::size_t i = 0; i < n; ++i)
      send(r, neighbours, r.group[i], r.group[(i + step) % n], r.bytes / static_cast<double>(n), c.phases[phase], slowest[phase]);
  }
  for (std::size_t phase = 0; phase < c.phases.size(); ++phase) slowest[phase].add_to(c.phases[phase].chain, 1);
  return c;
}

}  // namespace sim
