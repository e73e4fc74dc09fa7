#pragma once
// The conditions under which a rule applies, in words for people; where it is applied, the matcher and apply() check them.

#include <string>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// "dim 1 of x = dim 0 of w", "d divides dim 0 of x", "d*e divides the number of key heads", "d: any degree from 2". Where the rule is
// applied to a tensor that is cut already, the degree there times the rule's must divide.
[[nodiscard]] std::vector<std::string> side_conditions(const Rule& rule);

}  // namespace rules
