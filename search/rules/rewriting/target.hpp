#pragma once
// A rule's target as operators of a PCG, where one match binds its variables, sizes and degrees. Private to the rewriting.

#include <array>
#include <cstddef>
#include <variant>
#include <vector>

#include "base/attempt.hpp"
#include "search/rules/matching/match.hpp"

namespace rules {

// A tensor of the old graph, or an output of a fresh node.
struct Wire {
  bool fresh = false;
  std::size_t node = 0;  // of the old graph, or of Target::nodes
  int output = 0;
  auto operator<=>(const Wire&) const = default;
};

struct FreshNode {
  std::variant<pcg::Operator, pcg::ParallelOperator> op;
  std::vector<Wire> inputs;
  pcg::Sharding sharding;
  std::vector<pcg::ParallelShape> outputs;
};

struct Target {
  std::vector<FreshNode> nodes;  // in topological order
  std::vector<Wire> outputs;     // one per output of the rule
};

// Returns: the target there, or why it is not well typed. `degrees`: d and e, 0 where the target needs none.
[[nodiscard]] base::Attempt<Target> instantiate(const Rule& rule, const Match& match, const pcg::Pcg& graph,
                                                const std::array<int, 2>& degrees);

}  // namespace rules
