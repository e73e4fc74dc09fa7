#pragma once
// Counterexamples to equations: sizes and values at which the sides differ.

#include <optional>

#include "substitutions/proof/prove.hpp"

namespace substitutions {

// Tries several small sizes and draws of values. Types that differ are a counterexample too.
[[nodiscard]] std::optional<Counterexample> refute(const TypedEquation& e);

}  // namespace substitutions
