#pragma once
// The one definition of typing for rules; a test holds it against pcg::iteration_space at every kind that both have.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

// The parameters of a node in one assignment.
struct NodeNumbers {
  std::int64_t degree = 1, at = 0, by = 0;
};
// Returns: the type of a node from those of its inputs in one assignment; nullopt: it is ill typed.
// Requires: n is no variable.
[[nodiscard]] std::optional<Type> type_in(const Node& n, std::span<const Type* const> inputs, const NodeNumbers& numbers);
// The same in every assignment; nullopt: it is ill typed in one.
[[nodiscard]] std::optional<Types> type_of(const Node& n, std::span<const Types* const> inputs);
// Returns: the types of all nodes; nullopt if one is ill typed.
[[nodiscard]] std::optional<std::vector<Types>> types_of(const Term& t, std::span<const Variable> variables);

// A condition that typing cannot see: typing sizes are large multiples of 30^4 and meet it, other sizes need not.
struct SizeCondition {
  std::string_view what, cure;  // "cuts outside its tensor", "write the size as ..."
};
// Returns: the condition on its inputs' sizes that a node has and that their symbols do not imply: a split cuts where its tensor may have
// ended, a convolution's channels need not divide into groups, attention's last dim into three. Nullopt: the node can be evaluated at any
// sizes. `types`: of all nodes of its term.
// Requires: well typed.
[[nodiscard]] std::optional<SizeCondition> size_condition(const Node& n, std::span<const Types> types);

}  // namespace rules
