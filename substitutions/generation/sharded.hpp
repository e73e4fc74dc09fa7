#pragma once
// One operator against all ways of cutting it.

#include <vector>

#include "substitutions/generation/families.hpp"
#include "substitutions/language/rule.hpp"

namespace substitutions {

// "linear(x, w) = reduce[d](linear(partition[1, d](x), partition[0, d](w)))" and its like: for each operator of the setting that computes,
// over the variables in order: each input as it is or moved by one layout operator, the result put together by one. They follow from
// smaller equations, but only through a step that would match anything, x = combine[0, d](partition[0, d](x)).
[[nodiscard]] std::vector<Equation> sharded_forms(const Setting& setting);

}  // namespace substitutions
