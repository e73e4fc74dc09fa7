#pragma once
// Who adds up the gradient of a weight with whom. Most weights of a stage share one pattern: their data-parallel groups. A weight whose
// groups are unions of those (norms under sequence parallelism, which tensor-parallel ranks share as well) is synchronised as
// frameworks do it: with the others over the data-parallel groups, and once more across them.

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/dataflow/flow_graph.hpp"

namespace sim {

struct SyncPattern {
  std::vector<std::vector<base::DeviceId>> groups;  // each of two devices or more, ascending; disjoint
  [[nodiscard]] bool empty() const { return groups.empty(); }
  [[nodiscard]] std::size_t group_size() const { return groups.empty() ? 1 : groups.front().size(); }
  auto operator<=>(const SyncPattern&) const = default;
};

struct SyncParts {
  SyncPattern main;    // where ZeRO shards
  SyncPattern across;  // small all-reduce besides; usually empty
};

class Synchronisation {
 public:
  // O(weights x shards).
  Synchronisation(const pcg::Plan& plan, const FlowGraph& flow);
  // Of the weight that input `input` of `node` reads.
  [[nodiscard]] const SyncParts& of(std::uint32_t node, std::uint32_t input) const { return parts_.at({node, input}); }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, SyncParts> parts_;
};

}  // namespace sim
