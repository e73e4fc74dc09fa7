#pragma once
// Which operators on which types are worth forming: those that are well typed at every size, as the symbols of the sizes say, and mean
// something.

#include <optional>
#include <span>

#include "search/rules/language/term.hpp"

namespace rules {

// Returns the type of an operator's output (of both parts of a split: of the one that `n` is); nullopt: it is not worth forming.
[[nodiscard]] std::optional<Types> sensible_type(const Node& n, std::span<const Types* const> in);

}  // namespace rules
