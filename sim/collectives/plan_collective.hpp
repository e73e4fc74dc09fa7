#pragma once
// Planning of collectives over a cluster: which algorithm and protocol a tuned library would choose, and the phases that it becomes.

#include <optional>
#include <span>

#include "sim/collectives/collective.hpp"

namespace sim {

struct CollectiveConfig {
  Algorithm algorithm = Algorithm::automatic;  // one that does not apply (in_switch without such a switch) falls back to automatic
  // One phase per step of the algorithm instead of one per stage of it: slow; a test holds the fused form against it.
  bool step_by_step = false;
  base::Seconds base_latency;                         // per call, on top of what the network profile has
  const profiles::NetworkProfile* network = nullptr;  // nullptr: the one that the cluster names (none: pure alpha-beta)
  std::optional<profiles::Protocol> protocol;         // nullopt: the quickest; without a profile there are none
};

// Bytes S are as in nccl-tests: the full buffer (all-gather: the gathered output; reduce-scatter: the whole input; all-to-all: one rank's
// send buffer).
// Closed forms on one switch with n ranks, alpha per hop route, bandwidth b each way:
//   ring all-reduce 2(n-1) alpha + 2(n-1)/n S/b; all-gather, reduce-scatter (n-1) alpha + (n-1)/n S/b;
//   tree all-reduce 2 ceil(log2 n) alpha + 2 S/b (pipelined, double binary); all-to-all alpha + (n-1)/n S/b; send alpha + S/b.
// With a network profile (docs/architecture.md, "Collectives") each hop has the library's latency on top and each call its own; links are
// filled to a share; only algorithms that the profile has for the link types at hand are used, each with the protocols that it has there.
// Of all of them the quickest is taken, as a tuned library would. On link types that the profile does not know: as without one.
// Rings: one per NIC that the group's nodes can use (each enters and leaves a node by its NIC and carries an equal share), and within
// a node as many edge-disjoint ones as the wires give; at most kMostChannels.
//
// Returns: no phases for a group of one.
// Requires: `group` has distinct devices in rank order (send: {from, to}; broadcast: root first); bytes >= 0.
// Throws: base::InternalError when a requirement is broken; base::InputError when the cluster names a network profile that there is not.
// Cost: O(group) routes, O(group^2) for all-to-all; for each of the algorithms and numbers of channels that are compared.
[[nodiscard]] Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                         const topology::Cluster& cluster, const CollectiveConfig& config = {});

}  // namespace sim
