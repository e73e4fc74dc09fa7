#pragma once
// Collectives on the engine, alone.

#include <vector>

#include "sim/collectives/plan_collective.hpp"
#include "sim/engine/simgrid_engine.hpp"

namespace test {

inline constexpr double S = 1e9;  // bytes of a buffer

// Seconds until all of them have ended, where all start at once.
inline double run(const std::vector<sim::Collective>& together, const topology::Cluster& cluster) {
  return simulate(collective_graph(together, cluster)).makespan.value();
}

}  // namespace test
