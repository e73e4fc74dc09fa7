#include <algorithm>

#include "sim/channels/channels.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

using topology::DeviceId;

// Messages of one step of the exchange, between members of one domain or of two.
class ForwardedStep {
 public:
  explicit ForwardedStep(const CollectiveRequest& r) : r_(r), slowest_(r.route_classes) {}

  void send(const NodeMembers& domain, DeviceId from, DeviceId to, base::Bytes bytes, CollectivePhase& phase) {
    if (from == to) return;
    std::vector<topology::Route> routes = message_routes(from, to, domain.members, r_.cluster, r_.relays);
    for (topology::Route& route : routes) {
      const RouteClassId route_class = r_.route_classes.of(route);
      slowest_.see(route_class);
      phase.flows.push_back({from, to, std::move(route.links), bytes / static_cast<double>(routes.size()), route_class});
    }
  }
  void add_to(std::vector<Hops>& chain) const { slowest_.add_to(chain, 1); }

 private:
  const CollectiveRequest& r_;
  SlowestHop slowest_;
};

}  // namespace

// One message from each rank to its like in every other domain, and from each to every other one of its own domain: all slices are on their
// way at once, so both steps share a phase. Where domains have unequally many members, each gets its share of the bytes.
std::optional<Collective> plan_forwarded(Algorithm a, const CollectiveRequest& r) {
  const double copies = r.forwarding.copies;
  if (r.kind != CollectiveKind::all_to_all || copies <= 0 || r.forwarding.bulk != (a == Algorithm::bulk_forwarded)) return std::nullopt;
  Collective c{a, 1, {}, {}};
  CollectivePhase& phase = c.phases.emplace_back();
  ForwardedStep across(r), inside(r);
  const auto ranks = static_cast<double>(r.group.size());
  for (const NodeMembers& to : r.nodes) {
    std::vector<base::Bytes> arrived(to.members.size());
    const double share = static_cast<double>(to.members.size()) / ranks;
    for (const NodeMembers& from : r.nodes)
      for (std::size_t place = 0; place < from.members.size(); ++place) {
        const std::size_t like = place % to.members.size();
        arrived[like] += r.bytes * share;
        if (from.domain != to.domain) across.send(from, from.members[place], to.members[like], r.bytes * share, phase);
      }
    for (std::size_t place = 0; place < to.members.size(); ++place)
      for (const DeviceId member : to.members)
        inside.send(to, to.members[place], member, arrived[place] * (copies / static_cast<double>(to.members.size())), phase);
  }
  across.add_to(phase.chain);
  inside.add_to(phase.chain);
  return c;
}

}  // namespace sim
