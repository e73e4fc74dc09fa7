#pragma once
// Sharded forms: one operator, held against all layouts that it can be cut in.

#include <vector>

#include "search/rules/generation/families.hpp"
#include "search/rules/language/rule.hpp"

namespace rules {

// Returns equations as "linear(x, w) = reduce[d](linear(partition[1, d](x), partition[0, d](w)))", for each operator of the setting that
// computes, over the variables in order: each input is as it is or moved by one layout operator, and the result is put together by one.
// They follow from smaller equations, but only through a step that would match anything, x = combine[0, d](partition[0, d](x)).
[[nodiscard]] std::vector<Equation> sharded_forms(const Setting& setting);

}  // namespace rules
