#pragma once
// Rules as text, and the ones that the tests of this folder use: each has three operators a side at most, and one of the laws' numbers
// (A1, B2, ...) where it is one of theirs.

#include <map>
#include <string>
#include <vector>

#include "search/rules/matching/matcher.hpp"
#include "search/rules/rewriting/apply.hpp"

namespace rules::rewriting {

// Variables as parse_variable reads them, one text for all: "x: [m, k]; w: [k, n]".
[[nodiscard]] Rule rule(const std::string& name, const std::string& variables, const std::string& left, const std::string& right);
[[nodiscard]] Rule reversed(Rule r);
// Has the source every variable of the target?
[[nodiscard]] bool invents_nothing(const Rule& r);

// In both directions: "B2" and "B2'", where the other direction invents no variable.
[[nodiscard]] const std::map<std::string, Rule>& catalogue();

}  // namespace rules::rewriting
