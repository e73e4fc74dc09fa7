#pragma once
// Collectives over a cluster: which algorithm a tuned library would choose, and the flows that it becomes. Bytes S are as in
// nccl-tests: the full buffer (all-gather: the gathered output; reduce-scatter: the whole input; all-to-all: one rank's send buffer).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "profiles/collective_kind.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "topology/cluster.hpp"

namespace sim {

using profiles::Algorithm;
using profiles::CollectiveKind;

struct CollectiveConfig {
  Algorithm algorithm = Algorithm::automatic;  // one that does not apply (in_switch without such a switch) falls back to automatic
  bool step_by_step =
      false;  // one phase per step of the algorithm instead of one per stage of it (slow; held against the fused form in a test)
  base::Seconds base_latency;                         // per call, on top of what the network profile has
  const profiles::NetworkProfile* network = nullptr;  // nullptr: the one that the cluster names (none: pure alpha-beta)
  std::optional<profiles::Protocol> protocol;         // nullopt: the quickest; without a profile there are none
};

// `bytes` are those that are wanted. The library does not fill its links: they are busy as with bytes * cost (cost >= 1), and that is
// what shares them with other traffic.
struct CollectiveFlow {
  topology::DeviceId from, to;
  std::vector<topology::LinkId> links;
  base::Bytes bytes;
  std::uint32_t way = 0;  // of the plan's own numbering of alike routes (sim/collectives/ways.hpp)
  double cost = 1;
  [[nodiscard]] base::Bytes on_wire() const { return bytes * cost; }
};

// Part of a chain of messages that wait for each other: so many over one way.
struct Hops {
  std::uint32_t way = 0;
  double count = 0;
};

// Phases run one after another: latency first, then all flows of the phase together.
struct CollectivePhase {
  base::Seconds latency;
  std::vector<CollectiveFlow> flows;
  std::vector<Hops> chain;  // the longest: what `latency` is made of
};

struct Collective {
  Algorithm algorithm = Algorithm::ring;  // the one used
  int rings = 1;
  std::vector<CollectivePhase> phases;
  base::Seconds estimate;                      // sum over phases of latency + the busiest link's bytes / bandwidth: what it takes alone
  std::optional<profiles::Protocol> protocol;  // nullopt: alpha-beta
  profiles::Basis basis = profiles::Basis::defaults;  // fitted: by a network profile
};

// `group`: distinct devices in rank order (send: {from, to}; broadcast: root first). A group of one has no phases.
// Closed forms on one switch with n ranks, alpha per hop route, bandwidth b each way:
//   ring all-reduce 2(n-1) alpha + 2(n-1)/n S/b; all-gather, reduce-scatter (n-1) alpha + (n-1)/n S/b;
//   tree all-reduce 2 ceil(log2 n) alpha + 2 S/b (pipelined, double binary); all-to-all alpha + (n-1)/n S/b; send alpha + S/b.
// With a network profile (docs/architecture.md, "Collectives") each hop has the library's latency on top and each call its own; links are
// filled to a share; only algorithms that the profile has for the link types at hand are used, each with the protocols that it has there.
// Of all of them the quickest is taken, as a tuned library would. On link types that the profile does not know: as without one.
// Rings: one per NIC that the group's nodes can use (each enters and leaves a node by its NIC and carries an equal share), and within
// a node as many edge-disjoint ones as the wires give, at most 8. Cost: O(group) routes, O(group^2) for all-to-all.
[[nodiscard]] Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                         const topology::Cluster& cluster, const CollectiveConfig& config = {});

}  // namespace sim
