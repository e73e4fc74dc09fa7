#pragma once
// Facts that a simulation derives from a plan once: who reads whose tensors and where they lie, and who adds up gradients with whom. It
// does not depend on the plan's recomputation or ZeRO stage. Start here:
//   dataflow.hpp           dataflow_of(); Synchronisation: who adds up gradients, as SyncPatterns
//   flow_graph.hpp         FlowGraph: who reads whose tensors
//   layout.hpp             Layout, PlanLayouts: where shards lie; holders.hpp: who holds a block
//   movement.hpp           reshard(): the Movement between two layouts; internal_movement.hpp: those inside an operator
//   token_routing.hpp      TokenRouting: tokens to experts and back

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Who adds up the gradient of a weight with whom. Of each kind, experts' weights and the others, most of a stage's share one pattern: their
// data-parallel groups. A weight whose groups are unions of those (norms under sequence parallelism, which tensor-parallel ranks share as
// well) is synchronised as frameworks do it: with its kind over the data-parallel groups, and once more across them. Hybrid sharding cuts
// the data-parallel groups into groups of neighbours that shard (FSDP's hybrid strategy, arXiv 2304.11277, section 3.2.2; Megatron-Core's
// num_distributed_optimizer_instances), and adds up their shards across these.
struct SyncPattern {
  std::vector<std::vector<base::DeviceId>> groups;  // each of two devices or more, ascending; disjoint
  [[nodiscard]] bool empty() const { return groups.empty(); }
  [[nodiscard]] std::size_t group_size() const { return groups.empty() ? 1 : groups.front().size(); }
  auto operator<=>(const SyncPattern&) const = default;
};

using SyncPatternId = base::Id<struct SyncPatternTag>;

struct SyncParts {
  SyncPatternId main;      // where ZeRO shards
  SyncPatternId across;    // small all-reduce besides; usually empty
  SyncPatternId replicas;  // where the shards of copies are added up; empty, where ZeRO has one group
};

class Synchronisation {
 public:
  // Cost: O(weights), and O(shards) for each that is laid out otherwise than all before it.
  Synchronisation(const pcg::Plan& plan, const FlowGraph& flow);
  // Returns the groups of the weight that input `input` of `node` reads.
  // Requires: it reads one.
  [[nodiscard]] const SyncParts& of(std::uint32_t node, std::uint32_t input) const { return parts_[node][input]; }
  // Over how many devices ZeRO shards the state of that weight.
  [[nodiscard]] std::size_t shared_by(std::uint32_t node, std::uint32_t input) const { return pattern(of(node, input).main).group_size(); }
  // How many devices of all groups that ZeRO shards over.
  [[nodiscard]] std::size_t held_by(std::uint32_t node, std::uint32_t input) const {
    return shared_by(node, input) * pattern(of(node, input).replicas).group_size();
  }
  // The pattern of gradients that no two devices add up.
  [[nodiscard]] SyncPatternId none() const { return none_; }
  // Whether the holders of all weights are as many groups as the plan says; where they do not divide, they are one group.
  [[nodiscard]] bool divides() const { return divides_; }
  [[nodiscard]] const SyncPattern& pattern(SyncPatternId id) const { return patterns_[id.value]; }

 private:
  std::vector<SyncPattern> patterns_;  // by SyncPatternId, ascending: numbers are in the order of the patterns
  SyncPatternId none_;
  bool divides_ = true;
  std::vector<std::vector<SyncParts>> parts_;  // [node][input]; of inputs that are weights
};

struct Dataflow {
  FlowGraph flow;
  Synchronisation synchronisation;
};

// Requires: pcg::violations(plan) is empty.
// Cost: O(nodes), and O(points) for each that is laid out otherwise than all before it.
[[nodiscard]] Dataflow dataflow_of(const pcg::Plan& plan);

// Who holds the gradients of the whole model between them: what sums over all gradients, as their norm, goes over these groups.
// Returns: the devices of each copy of the synchronised gradients; none where a device has them all. `zero` as in pcg::Plan: from stage 1
// on all devices share out one copy, or each group of hybrid sharding its own; else devices at like places of the groups that add up
// gradients share one. The weights that fewest hold say how many copies there are: where experts are shared out among replicas, these are
// one copy.
// Cost: O(weights + stages x devices).
[[nodiscard]] SyncPattern model_copies(const pcg::Plan& plan, const FlowGraph& flow, const Synchronisation& synchronisation, int zero);

// Returns: groups that all-reduce one after another, so that afterwards every group of `all` has its sum: neighbours first, then devices a
// stride apart, as many steps as the size has prime factors. In pairs it is recursive doubling (Thakur et al., IJHPCA 2005, section 3.3.1).
// A library would take a tree, about as quick for a few bytes; steps keep devices alike, so that they are simulated as one.
[[nodiscard]] std::vector<SyncPattern> steps_of_sum(const SyncPattern& all);

}  // namespace sim
