#include "sim/collectives/plan_collective.hpp"

#include <algorithm>

namespace sim {

LinkLoads::LinkLoads(const topology::Cluster& cluster) : cluster_(cluster), bytes_(cluster.links().size()) {}

base::Seconds LinkLoads::seconds(std::span<const Collective> together) {
  std::size_t phases = 0;
  for (const Collective& c : together) phases = std::max(phases, c.phases.size());
  base::Seconds total;
  // Collectives that start together are taken to be in the same phase at the same time.
  for (std::size_t i = 0; i < phases; ++i) {
    const auto each_link = [&](auto&& visit) {
      for (const Collective& c : together)
        if (i < c.phases.size())
          for (const CollectiveFlow& f : c.phases[i].flows)
            for (const topology::LinkId l : f.links) visit(l, f.on_wire());
    };
    // Twice over the same flows: the second time finds each sum and clears it, so that the array is never cleared as a whole.
    each_link([this](topology::LinkId l, base::Bytes b) { bytes_[l.value] += b; });
    base::Seconds latency, busiest;
    each_link([&](topology::LinkId l, base::Bytes) {
      busiest = std::max(busiest, bytes_[l.value] / cluster_.link(l).bandwidth);
      bytes_[l.value] = base::Bytes(0);
    });
    for (const Collective& c : together)
      if (i < c.phases.size()) latency = std::max(latency, c.phases[i].latency);
    total += latency + busiest;
  }
  return total;
}

}  // namespace sim
