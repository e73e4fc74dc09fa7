#pragma once
// Who adds up the gradient of a weight with whom. Of each kind, experts' weights and the others, most of a stage's share one pattern: their
// data-parallel groups. A weight whose groups are unions of those (norms under sequence parallelism, which tensor-parallel ranks share as
// well) is synchronised as frameworks do it: with its kind over the data-parallel groups, and once more across them.

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/dataflow/flow_graph.hpp"

namespace sim {

struct SyncPattern {
  std::vector<std::vector<base::DeviceId>> groups;  // each of two devices or more, ascending; disjoint
  [[nodiscard]] bool empty() const { return groups.empty(); }
  [[nodiscard]] std::size_t group_size() const { return groups.empty() ? 1 : groups.front().size(); }
  auto operator<=>(const SyncPattern&) const = default;
};

using SyncPatternId = base::Id<struct SyncPatternTag>;

struct SyncParts {
  SyncPatternId main;    // where ZeRO shards
  SyncPatternId across;  // small all-reduce besides; usually empty
};

class Synchronisation {
 public:
  // Cost: O(weights), and O(shards) for each that is laid out otherwise than all before it.
  Synchronisation(const pcg::Plan& plan, const FlowGraph& flow);
  // Of the weight that input `input` of `node` reads. Requires: it reads one.
  [[nodiscard]] const SyncParts& of(std::uint32_t node, std::uint32_t input) const { return parts_[node][input]; }
  // Over how many devices ZeRO shards the state of that weight.
  [[nodiscard]] std::size_t shared_by(std::uint32_t node, std::uint32_t input) const { return pattern(of(node, input).main).group_size(); }
  [[nodiscard]] const SyncPattern& pattern(SyncPatternId id) const { return patterns_[id.value]; }

 private:
  std::vector<SyncPattern> patterns_;          // by SyncPatternId, ascending: numbers are in the order of the patterns
  std::vector<std::vector<SyncParts>> parts_;  // [node][input]; of inputs that are weights
};

}  // namespace sim
