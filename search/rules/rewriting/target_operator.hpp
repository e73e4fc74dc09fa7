#pragma once
// From an operator of a rule's target to an operator of a graph. Private to the rewriting.

#include <cstddef>
#include <optional>
#include <span>

#include "base/attempt.hpp"
#include "search/rules/matching/match.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {

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

// Returns the operator, or why there is none. `row`: Match::row.
[[nodiscard]] base::Attempt<pcg::Operator> target_operator(const Node& node, std::span<const TargetInput> inputs,
                                                           const FreeAttributes& free, int row);

// Returns the dim of a tensor of the graph that a dim of the rule's stands for: the tensor may have more. Requires: rank >= rule_rank.
[[nodiscard]] std::size_t dim_in_graph(std::size_t dim, std::size_t rule_rank, std::size_t rank, int row);

}  // namespace rules
