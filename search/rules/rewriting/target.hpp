#pragma once
// A rule's target as operators of a PCG, where one match binds its variables, sizes and degrees. Private to the rewriting.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/attempt.hpp"
#include "search/rules/matching/match.hpp"
#include "search/rules/matching/pattern.hpp"

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

// Attributes that a rule leaves free: those of the operators that it matched.
struct FreeAttributes {
  std::optional<Window> conv, max_pool, average_pool;
  std::optional<pcg::Attention> attention;
  bool keeps_attentions = true;  // the target has as many as the source
  std::optional<pcg::Dropout> dropout;
};
[[nodiscard]] FreeAttributes free_attributes(const Rule& rule, const Match& match, const pcg::Pcg& graph);

// An input of an operator of the target.
struct TargetInput {
  const Type* in_rule = nullptr;
  const pcg::ParallelShape* shape = nullptr;  // in the graph; nullptr: a number
  double scalar = 1;                          // of a number
};

// Returns: the operator, or why there is none. `row`: Match::row.
[[nodiscard]] base::Attempt<pcg::Operator> target_operator(const Node& node, std::span<const TargetInput> inputs,
                                                           const FreeAttributes& free, int row);

// Returns: the dim of a tensor of the graph that a dim of the rule's stands for: the tensor may have more.
// Requires: rank >= rule_rank.
[[nodiscard]] std::size_t dim_in_graph(std::size_t dim, std::size_t rule_rank, std::size_t rank, int row);

}  // namespace rules
