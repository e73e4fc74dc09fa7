#pragma once
// Pruning: the most general forms of equations, without renamings and special cases of each other.

#include <cstdint>
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
// Returns: both sides as one term.
// Requires: well typed.
[[nodiscard]] Joint join(const Equation& e);
[[nodiscard]] Equation separate(const Joint& j);

// Returns: what each variable of `general` stands for, as nodes of `special`, so that its sides become those of `special`, in this order or
// swapped; nullopt: it is no special case. Layouts are not compared, because equations that are well typed in the same layouts say the
// same. Commutative operators match with their inputs in either order, and d and e may have exchanged their names.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> instance(const Joint& general, const Joint& special);

// Returns: whether the equation from right to left is itself, up to names: add(x, add(y, z)) = add(y, add(x, z)). Both directions are one
// rule then. The order of summands counts, as it does where rules are matched: it is part of a layout.
[[nodiscard]] bool is_symmetric(const Joint& j);

struct Pruned {
  std::vector<Equation> equations;                    // fewest operators first, then fewest variables, then the shorter text
  std::int64_t renamed = 0, common = 0, implied = 0;  // dropped: equal up to names; a kept one on operators' results; with variables equal
  std::int64_t refuted = 0;                           // false at more sizes than it was found with
};
// Returns: the equations that say something new and can be written as rules (`expressible`; the others are in no count). Deterministic.
// Names of variables are made short where that leaves them unique.
[[nodiscard]] Pruned prune(const std::vector<Equation>& equations);

// Returns: whether the sides' values are equal at 16 draws of small sizes and values.
// Requires: expressible.
[[nodiscard]] bool holds(const Joint& j);

// Returns: a more general true equation of which the given one is a special case. Steps are greedy, so there may be a more general one
// still. Each is taken while the equation stays true: operators' results become variables, the largest first; some uses of a variable that
// is used two to eight times become another variable; some dims of equal size become free; symbols that occur only as one sum become one.
[[nodiscard]] Joint generalize(Joint j);

// Returns: whether operators are one node by coincidence: the equation is a special case of one with more operators, in which they work on
// different variables. Such an equation ("add(f, f) = g(add(x, x)), f = g(x)") says less than the one between two of those operators. Not
// tried where there would be too many ways: true beyond 10 uses of a shared operator, false beyond 60 nodes.
[[nodiscard]] bool shares_by_coincidence(const Joint& j);

// Returns: whether the equation can be written: positions of cuts are sums of the variables' dims or of their letters, sizes of constants
// sums of dims, and those are sums of letters; no node is well typed by coincidence of sizes (size_condition()).
[[nodiscard]] bool expressible(const Joint& j);

}  // namespace rules
