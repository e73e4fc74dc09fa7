#pragma once
// Planning of collectives over a cluster: which algorithm and protocol a tuned library would choose, and the phases that it becomes.
// Start here:
//   plan_collective.hpp  plan_collective(): one; CollectivePlanner: many over one cluster
//   collective.hpp       Collective: phases with their latencies and flows, by RouteClass
//   algorithms.hpp       plan_ring(), plan_tree(), ...: an algorithm each, in the source of its name
//   collective_cost.hpp  CollectiveShape: all that the time depends on; cost_of(): the time

#include <optional>
#include <span>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/collective_cost.hpp"
#include "sim/engine/task_graph.hpp"

namespace sim {

struct CollectiveConfig {
  Algorithm algorithm = Algorithm::automatic;         // one that does not apply (in_switch without such a switch) falls back to automatic
  const profiles::NetworkProfile* network = nullptr;  // nullptr: the one that the cluster names (none: pure alpha-beta)
  std::optional<profiles::Protocol> protocol;         // nullopt: the quickest; without a profile there are none
};

// Returns the algorithms among which Algorithm::automatic chooses: with a profile all, as it has entries for those of its library; by the
// wires alone those of NCCL, which has no hierarchical one.
[[nodiscard]] std::span<const Algorithm> automatic_algorithms(const profiles::NetworkProfile* profile);

// Bytes S are as in nccl-tests: the full buffer (all-gather: the gathered output; reduce-scatter: the whole input; all-to-all: one rank's
// send buffer).
// Closed forms on one switch with n ranks, alpha per hop route, bandwidth b each way:
//   ring all-reduce 2(n-1) alpha + 2(n-1)/n S/b; all-gather, reduce-scatter (n-1) alpha + (n-1)/n S/b;
//   tree all-reduce, one rank per node, n >= 4, 2 ceil(log2 n) alpha + 2 S/b (pipelined, double binary; a chain within a node); all-to-all
//   alpha + (n-1)/n S/b; send alpha + S/b.
// With a network profile (docs/architecture.md, "Collectives") each hop has the library's latency on top and each call its own; links are
// filled to a share; only algorithms that the profile has for the link types of the group are used, each with the protocols that it has
// there. The quickest of all is taken, as a tuned library would. On link types that the profile does not know: as without one. Rings: one
// for each NIC that is a member's own (sim/channels/channels.hpp), with equal shares, and within a node as many as the wires have room for;
// at most kMostChannels.
//
// Returns: no phases for a group of one.
// Requires: `group` has distinct devices in rank order (send: {from, to}; broadcast: root first); bytes >= 0.
// Throws: base::InternalError when a requirement is broken; base::InputError when the cluster names a network profile that there is not.
// Cost: O(group) routes, O(group^2) for all-to-all, for each of the algorithms and numbers of channels that are compared; channels as
// find_channels says, once; and O(links of the cluster x route classes), which a CollectivePlanner pays once.
[[nodiscard]] Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                         const topology::Cluster& cluster, const CollectiveConfig& config = {});

// An algorithm and a protocol to plan with, as in CollectiveConfig.
struct CollectiveChoice {
  Algorithm algorithm = Algorithm::automatic;
  std::optional<profiles::Protocol> protocol;
};

// Plans many collectives over one cluster. Not for several threads at once.
class CollectivePlanner {
 public:
  // The cluster and the config's profile outlive the object.
  // Throws: base::InputError as plan_collective does.
  CollectivePlanner(const topology::Cluster& cluster, const CollectiveConfig& config);

  // The one that it plans by; nullptr: by the wires alone.
  [[nodiscard]] const profiles::NetworkProfile* profile() const { return profile_; }
  // As plan_collective. `forwarding`: of an all-to-all whose members pass on what comes (Transfer, sim/dataflow/movement.hpp).
  [[nodiscard]] Collective plan(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                const Forwarding& forwarding = {});
  // Returns one per choice: the plan of a config that makes this choice; nullopt where the library does not do it so here, unless the
  // choice is the planner's own config's. Of a group of one: no phases, whatever the choice.
  // Cost: that of one plan with every algorithm, and a copy of each result.
  [[nodiscard]] std::vector<std::optional<Collective>> plan_each(CollectiveKind kind, base::Bytes bytes,
                                                                 std::span<const topology::DeviceId> group,
                                                                 std::span<const CollectiveChoice> choices,
                                                                 const Forwarding& forwarding = {});

 private:
  [[nodiscard]] bool applies(const CollectiveChoice& choice, const CollectiveChoice& made) const;

  const topology::Cluster& cluster_;
  CollectiveConfig config_;
  const profiles::NetworkProfile* profile_;
  ShapeFinder finder_;
};

// Collectives as a TaskGraph of their own: what they take when nothing else runs.
// One task per collective, all free to start at 0, no streams. Links are those that some flow crosses.
[[nodiscard]] TaskGraph collective_graph(std::span<const Collective> collectives, const topology::Cluster& cluster);

}  // namespace sim
