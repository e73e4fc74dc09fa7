#pragma once
// How long collectives take by their busiest links: exact where the flows of a phase on its busiest link end together, else a bound
// from below; of several collectives whose latencies or phases differ, an estimate. Private to sim.

#include <span>
#include <vector>

#include "sim/collectives/collective.hpp"

namespace sim {

// Holds one number per link of the cluster, for any number of questions.
class LinkLoads {
 public:
  explicit LinkLoads(const topology::Cluster& cluster);

  // Sum over the phases of latency + the busiest link's bytes on the wire / bandwidth, phase i of all collectives together.
  [[nodiscard]] base::Seconds seconds(std::span<const Collective> together);

 private:
  const topology::Cluster& cluster_;
  std::vector<base::Bytes> bytes_;  // per link; 0 between questions
};

}  // namespace sim
