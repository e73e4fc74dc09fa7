#pragma once
// Collectives over a cluster: which algorithm a tuned library would choose, and the flows that it becomes. Bytes S are as in
// nccl-tests: the full buffer (all-gather: the gathered output; reduce-scatter: the whole input; all-to-all: one rank's send buffer).

#include <span>
#include <vector>

#include "base/units.hpp"
#include "profiles/collective_kind.hpp"
#include "topology/cluster.hpp"

namespace sim {

using profiles::Algorithm;
using profiles::CollectiveKind;

struct CollectiveConfig {
  Algorithm algorithm = Algorithm::automatic;  // one that does not apply (in_switch without such a switch) falls back to automatic
  bool step_by_step =
      false;  // one phase per step of the algorithm instead of one per stage of it (slow; held against the fused form in a test)
  base::Seconds base_latency;  // per call, from a network profile; 0: pure alpha-beta
};

struct CollectiveFlow {
  topology::DeviceId from, to;
  std::vector<topology::LinkId> links;
  base::Bytes bytes;
};

// Phases run one after another: latency first, then all flows of the phase together.
struct CollectivePhase {
  base::Seconds latency;
  std::vector<CollectiveFlow> flows;
};

struct Collective {
  Algorithm algorithm = Algorithm::ring;  // the one used
  int rings = 1;
  std::vector<CollectivePhase> phases;
  base::Seconds estimate;  // sum over phases of latency + the busiest link's bytes / bandwidth: what it takes alone
};

// `group`: distinct devices in rank order (send: {from, to}; broadcast: root first). A group of one has no phases.
// Closed forms on one switch with n ranks, alpha per hop route, bandwidth b each way:
//   ring all-reduce 2(n-1) alpha + 2(n-1)/n S/b; all-gather, reduce-scatter (n-1) alpha + (n-1)/n S/b;
//   tree all-reduce 2 ceil(log2 n) alpha + 2 S/b (pipelined, double binary); all-to-all alpha + (n-1)/n S/b; send alpha + S/b.
// Rings: one per NIC that the group's nodes can use (each enters and leaves a node by its NIC and carries an equal share), and within
// a node as many edge-disjoint ones as the wires give, at most 8. Cost: O(group) routes, O(group^2) for all-to-all.
[[nodiscard]] Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                         const topology::Cluster& cluster, const CollectiveConfig& config = {});

}  // namespace sim
