#pragma once
// What must be so where a rule is applied, in words: typing is what checks it there (matcher.hpp), this is for people.

#include <string>
#include <vector>

#include "substitutions/language/rule.hpp"

namespace substitutions {

// "dim 1 of x = dim 0 of w", "d divides dim 0 of x", "d*e divides the number of key heads", "d: any degree from 2". Of a tensor that is cut
// already where the rule is applied, what divides is the degree there times the rule's.
[[nodiscard]] std::vector<std::string> side_conditions(const Rule& rule);

}  // namespace substitutions
