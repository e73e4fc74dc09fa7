#pragma once
// What a run says of where its plan lies on the cluster.

#include <vector>

#include "base/fact.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/folding/traffic.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Returns: that tensor-parallel ranks or ranks that share experts are in several domains; that an all-reduce is taken to be reduced in
// switches; that a fault leaves a part of a link in use; that ZeRO has nothing to share out.
// Requires: `program` and `traffic` are those of the plan on the cluster.
// Cost: O(transfers of a forward pass + links in use), and planning one all-reduce.
[[nodiscard]] std::vector<base::Fact> placement_facts(const pcg::Plan& plan, const Dataflow& dataflow, const Program& program,
                                                      const Traffic& traffic, const topology::Cluster& cluster,
                                                      const CollectiveConfig& config);

}  // namespace sim
