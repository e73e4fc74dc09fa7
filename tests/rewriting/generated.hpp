#pragma once
// The rules that the generator finds, few enough for tests that try each of them.

#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules::rewriting {

// Returns: the equations of builtin_rules(), which a test of the rules holds against those that generate() finds, in every direction that
// is a rule; relu stands for every function, of which nothing is known either way.
[[nodiscard]] const std::vector<Rule>& generated();

}  // namespace rules::rewriting
