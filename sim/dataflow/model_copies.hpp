#pragma once
// Who holds the gradients of the whole model between them: what sums over all gradients, as their norm, goes over these groups.

#include "sim/dataflow/synchronisation.hpp"

namespace sim {

// Returns: the devices of each copy of the synchronised gradients; nobody where a device has them all. `zero` as in pcg::Plan: from stage 1
// on all devices share out one copy, or each group of hybrid sharding its own; else devices at like places of the groups that add up
// gradients share one. The weights that fewest hold say how many copies there are: where experts are shared out among replicas, these are
// one copy. Cost: O(weights + stages x devices).
[[nodiscard]] SyncPattern model_copies(const pcg::Plan& plan, const FlowGraph& flow, const Synchronisation& synchronisation, int zero);

// Returns: groups that all-reduce one after another, so that afterwards every group of `all` has its sum: neighbours first, then devices a
// stride apart, as many steps as the size has prime factors. In pairs it is recursive doubling (Thakur et al., IJHPCA 2005, section 3.3.1).
// A library would take a tree, about as quick for a few bytes; steps keep devices alike, so that they are simulated as one.
[[nodiscard]] std::vector<SyncPattern> steps_of_sum(const SyncPattern& all);

}  // namespace sim
