#pragma once
// Counterexamples to equations: sizes and values at which the sides differ.

#include <optional>

#include "search/rules/proof/prove.hpp"

namespace rules {

// Returns a counterexample from several small sizes and draws of values; nullopt: none was found. Outputs of different types are one, too.
// Requires: no size condition (size_condition.hpp).
[[nodiscard]] std::optional<Counterexample> refute(const TypedEquation& e);

}  // namespace rules
