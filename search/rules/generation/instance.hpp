#pragma once
// Equations that are special cases of others, whose variables stand for variables or for operators' results there.

#include <optional>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// Both sides of an equation as one term: outputs of the left, then of the right; operators that the sides share are one node.
struct Joint {
  std::vector<Variable> variables;  // those of the equation that it uses
  Term term;
  std::vector<Types> types;  // of the nodes
  std::size_t outputs = 0;   // of each side
  int operators_left = 0, operators_right = 0;
};
// Returns both sides as one term. Requires: well typed.
[[nodiscard]] Joint join(const Equation& e);
[[nodiscard]] Equation separate(const Joint& j);

// Returns what each variable of `general` stands for, as nodes of `special`, so that its sides become those of `special`, in this order or
// swapped; nullopt: it is no special case. Layouts are not compared, because equations that are well typed in the same layouts say the
// same. Commutative operators match with their inputs in either order, and d and e may have exchanged their names.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> instance(const Joint& general, const Joint& special);

// Returns whether the equation from right to left is itself, up to names: add(x, add(y, z)) = add(y, add(x, z)). Both directions are one
// rule then. The order of summands counts, as it does where rules are matched: it is part of a layout.
[[nodiscard]] bool is_symmetric(const Joint& j);

}  // namespace rules
