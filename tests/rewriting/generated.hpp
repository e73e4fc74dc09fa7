#pragma once
// The rules that the generator finds, before it proves them: quick enough for tests that try each of them.

#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules::rewriting {

// What generate() enumerates and prunes of up to three operators a side, in every direction that is a rule; relu for every function, of
// which nothing is known either way. Made once: takes seconds.
[[nodiscard]] const std::vector<Rule>& generated();

}  // namespace rules::rewriting
