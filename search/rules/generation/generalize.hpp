#pragma once
// The most general equation behind one that was found over few variables.

#include "search/rules/generation/instance.hpp"

namespace rules {

// Returns whether the sides' values are equal at 16 draws of small sizes and values. Requires: expressible.
[[nodiscard]] bool holds(const Joint& j);

// Returns a more general true equation of which the given one is a special case. Steps are greedy, so there may be a more general one
// still. Each is taken while the equation stays true:
// operators' results become variables, the largest first; some uses of a variable that is used two to eight times become another variable;
// some dims of equal size become free; size symbols that occur only as one sum become one symbol.
[[nodiscard]] Joint generalize(Joint j);

// Returns whether operators are one node by coincidence: the equation is a special case of one with more operators, in which they work on
// different variables. Such an equation ("add(f, f) = g(add(x, x)), f = g(x)") says less than the one between two of those operators.
// Not tried where there would be too many ways: true beyond 10 uses of a shared operator, false beyond 60 nodes.
[[nodiscard]] bool shares_by_coincidence(const Joint& j);

// Returns whether the equation can be written: positions of cuts are sums of the variables' dims or of their letters, sizes of constants
// sums of dims, and those are sums of letters; no node is well typed by coincidence of sizes (size_condition.hpp).
[[nodiscard]] bool expressible(const Joint& j);

}  // namespace rules
