#include <algorithm>

#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

// Each of the n-1 steps of an all-gather or reduce-scatter sends 1/n of the buffer over every edge; an all-reduce is one after the other.
int steps_of(CollectiveKind kind, int n) { return kind == CollectiveKind::all_reduce ? 2 * (n - 1) : n - 1; }

}  // namespace

std::optional<Collective> plan_ring(const CollectiveRequest& r, int channels) {
  if (r.kind == CollectiveKind::all_to_all || r.kind == CollectiveKind::send) return std::nullopt;
  const std::vector<Channel>& found = r.channels(channels);
  const int n = static_cast<int>(r.group.size());
  const int steps = steps_of(r.kind, n);
  const bool broadcast = r.kind == CollectiveKind::broadcast;
  // A broadcast goes round from its root, all of the buffer over every edge but the one that would bring it back.
  const double step_bytes = broadcast ? r.bytes.value() : r.bytes.value() / n;
  const bool in_steps = r.step_by_step && !broadcast;

  CollectivePhase phase;
  for (const Hop& h : ring_hops(found)) {
    if (broadcast && h.to == r.group.front()) continue;
    topology::Route route = route_of(h, r.cluster);
    phase.latency = std::max(phase.latency, route.latency);
    phase.flows.push_back({h.from, h.to, std::move(route.links), base::Bytes(step_bytes * h.share * (broadcast || in_steps ? 1 : steps))});
  }
  Collective c{Algorithm::ring, static_cast<int>(found.size()), {}, {}};
  if (in_steps) {
    c.phases.assign(static_cast<std::size_t>(steps), phase);
  } else {
    phase.latency = phase.latency * steps;
    c.phases.push_back(std::move(phase));
  }
  return c;
}

}  // namespace sim
