#pragma once
// Published rules in our language, under each meaning that their replica dim may have.

#include <vector>

#include "search/rules/language/typed_equation.hpp"
#include "search/rules/published/published_rule.hpp"

namespace rules {

// Returns the equations that the rule may mean: one for each meaning of the replica dim (copies, partial sums, a stack), the same
// throughout the rule, under which both sides are well typed and have equal layouts. The variables of each have the plainest such layouts,
// of which at most three are laid out at once.
[[nodiscard]] std::vector<TypedEquation> interpretations(const PublishedRule& r);

}  // namespace rules
