// Without relaying: through a switch that reduces, and straight from each to each.

#include <algorithm>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {

// NVLink SHARP. Every GPU reduces 1/n of the buffer: it reads it through the switch, which asks all n GPUs for their part and returns
// the sum, and writes the sum through the switch, which hands it to all n. Each GPU thus sends n parts when others (and itself) read,
// and one when it writes; it receives one sum that it reads and n that are written: S (n+1)/n each way. On the wire the two halves
// overlap; the latencies of a read and a write add. A flow here is up from one GPU and down to the next: every wire has its load once.
std::optional<Collective> plan_in_switch(const CollectiveRequest& r) {
  if (r.kind != CollectiveKind::all_reduce || r.nodes.size() != 1) return std::nullopt;
  std::vector<topology::Cluster::SwitchPaths> paths;
  for (const topology::DeviceId d : r.group) {
    std::optional<topology::Cluster::SwitchPaths> p = r.cluster.in_network_switch(d);
    if (!p) return std::nullopt;
    paths.push_back(std::move(*p));
  }
  const std::size_t n = r.group.size();
  CollectivePhase phase;
  for (std::size_t i = 0; i < n; ++i) {
    const topology::Route &up = paths[i].up, &down = paths[(i + 1) % n].down;
    std::vector<topology::LinkId> links = up.links;
    links.insert(links.end(), down.links.begin(), down.links.end());
    phase.latency = std::max(phase.latency, 2.0 * (up.latency + down.latency));
    phase.flows.push_back(
        {r.group[i], r.group[(i + 1) % n], std::move(links), r.bytes * (static_cast<double>(n + 1) / static_cast<double>(n))});
  }
  return Collective{Algorithm::in_switch, 1, {std::move(phase)}, {}};
}

// All-to-all: 1/n of each rank's buffer to every other, all at once, or in n-1 steps in which rank i sends to rank i + step.
std::optional<Collective> plan_pairwise(const CollectiveRequest& r) {
  Collective c{Algorithm::pairwise, 1, {}, {}};
  const std::size_t n = r.group.size();
  if (r.kind == CollectiveKind::send) {
    BASE_CHECK(n == 2, "a send among {} devices", n);
    topology::Route route = r.cluster.route(r.group[0], r.group[1]);
    c.phases.push_back({route.latency, {{r.group[0], r.group[1], std::move(route.links), r.bytes}}});
    return c;
  }
  if (r.kind != CollectiveKind::all_to_all) return std::nullopt;
  c.phases.resize(r.step_by_step ? n - 1 : 1);
  for (std::size_t step = 1; step < n; ++step) {
    CollectivePhase& phase = c.phases[r.step_by_step ? step - 1 : 0];
    for (std::size_t i = 0; i < n; ++i) {
      topology::Route route = r.cluster.route(r.group[i], r.group[(i + step) % n]);
      phase.latency = std::max(phase.latency, route.latency);
      phase.flows.push_back({r.group[i], r.group[(i + step) % n], std::move(route.links), r.bytes / static_cast<double>(n)});
    }
  }
  return c;
}

}  // namespace sim
