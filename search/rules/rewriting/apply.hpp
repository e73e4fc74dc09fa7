#pragma once
// Rewriting: a rule's target takes the place of an occurrence of its source.

#include <span>

#include "base/attempt.hpp"
#include "pcg/graph/pcg.hpp"
#include "search/rules/matching/match.hpp"

namespace rules {

struct Rewritten {
  pcg::Pcg graph;
};

// Returns: the rewritten graph, or why there is none: the result would not be well typed there, would have a cycle, other results or
// another order of blocks, or would lack a tensor that is read. `degrees` gives d and e where the match leaves them free.
// Keeps: attributes that the rule leaves free; names, where a new node stands for an old one; nodes of the occurrence that are still read.
// Changes: the half of a split that the rule does not speak of becomes a slice; a concat that becomes part of a concat is joined with it.
// Removes: operators that only the occurrence read, where the target does without them; not inputs and weights.
// Requires: the match is one of this rule and graph, and every letter of the target has a size.
[[nodiscard]] base::Attempt<Rewritten> apply(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const int> degrees);

}  // namespace rules
