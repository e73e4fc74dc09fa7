#pragma once
// Every movement of a program as flows over links: what folding looks at and unrolling copies from.

#include <cstdint>
#include <map>
#include <vector>

#include "sim/collectives/plan_collective.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

struct TrafficFlow {
  std::uint32_t phase = 0;
  base::DeviceId from, to;
  base::Bytes bytes;                 // that are wanted
  double wire_factor = 1;            // CollectiveFlow
  std::vector<std::uint32_t> links;  // index into Traffic::links
};

struct TrafficTransfer {
  MovementId movement;
  std::uint32_t round = 0;
  CollectiveKind kind = CollectiveKind::send;
  std::vector<base::DeviceId> members;  // send: {from, to}
  std::vector<base::Seconds> delays;    // one per phase
  std::vector<TrafficFlow> flows;
};

struct Traffic {
  std::vector<topology::LinkId> links;                               // those in use
  std::vector<TrafficTransfer> transfers;                            // by movement, round, position in the round
  std::vector<std::vector<std::vector<std::uint32_t>>> of_movement;  // [movement][round]: indices into transfers
};

// Plans every transfer of every movement. Cost: plan_collective for each.
[[nodiscard]] Traffic traffic_of(const Program& program, const topology::Cluster& cluster, const CollectiveConfig& config);

}  // namespace sim
