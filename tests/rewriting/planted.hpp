#pragma once
// Graphs in which a rule's source is sure to be found: its variables as inputs, in layouts that they may have, and its operators.

#include <optional>
#include <span>

#include "search/substitutions/matcher.hpp"

namespace substitutions::rewriting {

// The sources of some rules side by side. Every letter is one small size, d and e are 2. Nullopt where one is not well typed at those
// sizes, or holds what no PCG has (constants; heads of attention).
[[nodiscard]] std::optional<pcg::Pcg> planted(std::span<const Rule> rules);

}  // namespace substitutions::rewriting
