#include <algorithm>
#include <numeric>

#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// Each of the n-1 steps of an all-gather or reduce-scatter sends 1/n of the buffer over every edge; an all-reduce is one after the other.
int steps_of(CollectiveKind kind, int n) { return kind == CollectiveKind::all_reduce ? 2 * (n - 1) : n - 1; }

// `steps` messages in a row, going round over hops in these proportions.
std::vector<Hops> chain_of(const std::vector<double>& hops, int steps) {
  const double sum = std::accumulate(hops.begin(), hops.end(), 0.0);
  std::vector<Hops> chain;
  for (std::size_t c = 0; c < hops.size(); ++c)
    if (hops[c] > 0) chain.push_back({RouteClassId(c), steps * hops[c] / sum});
  return chain;
}

}  // namespace

std::optional<Collective> plan_ring(const CollectiveRequest& r, int channels) {
  if (r.kind == CollectiveKind::all_to_all || r.kind == CollectiveKind::send) return std::nullopt;
  const std::vector<Channel>& found = r.channels(channels);
  const int n = static_cast<int>(r.group.size());
  const int steps = steps_of(r.kind, n);
  const bool broadcast = r.kind == CollectiveKind::broadcast;
  // A broadcast goes round from its root, all of the buffer over every edge but the one that would bring it back.
  const double step_bytes = broadcast ? r.bytes.value() : r.bytes.value() / n;

  CollectivePhase phase;
  std::vector<double> hops;  // by route class: how much of one turn of the ring
  for (const Hop& h : ring_hops(found)) {
    topology::Route route = route_of(h, r.cluster);
    const RouteClassId route_class = r.route_classes.of(route);
    hops.resize(std::max<std::size_t>(hops.size(), route_class.value + 1), 0);
    hops[route_class.value] += h.share * h.copies;
    if (broadcast && h.to == r.group.front()) continue;
    phase.flows.push_back({.from = h.from,
                           .to = h.to,
                           .links = std::move(route.links),
                           .bytes = base::Bytes(step_bytes * h.share * (broadcast ? 1 : steps) * h.copies),
                           .route_class = route_class,
                           .copies = h.copies});
  }
  phase.chain = chain_of(hops, steps);
  return Collective{Algorithm::ring, static_cast<int>(found.size()), {std::move(phase)}, {}};
}

}  // namespace sim
