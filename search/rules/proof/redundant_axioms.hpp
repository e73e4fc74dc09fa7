#pragma once
// Axioms that follow from the others.

#include <string>
#include <vector>

#include "search/rules/axioms/axioms.hpp"

namespace rules {

// Returns the names of the entries that the other entries prove, each by itself.
[[nodiscard]] std::vector<std::string> redundant(const Axioms& axioms);

}  // namespace rules
