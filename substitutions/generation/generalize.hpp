#pragma once
// The most general equation behind one that was found over few variables.

#include "substitutions/generation/instance.hpp"

namespace substitutions {

// Are the sides' values equal at 16 choices of small sizes and values? Requires: expressible.
[[nodiscard]] bool holds(const Joint& j);

// While that leaves it true: operators' results become variables, the largest first; of a variable that is used several times, some uses
// become another variable; of dims of equal size, some become free; size symbols that
// occur only as one sum become one. The equation given is a special case of the result.
[[nodiscard]] Joint generalize(Joint j);

// Is it a special case of an equation with more operators, where operators that are one node here work on different variables? Such ones
// ("add(f, f) = g(add(x, x)), f = g(x)") say less than what is between two of those operators.
[[nodiscard]] bool shares_by_chance(const Joint& j);

// Can it be written? Positions of cuts and sizes of constants are sums of the variables' dims, and those of letters;
// no node is well typed by chance alone (size_condition.hpp).
[[nodiscard]] bool expressible(const Joint& j);

}  // namespace substitutions
