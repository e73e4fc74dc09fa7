#pragma once
// A target takes the place of matched nodes, whatever it comes from: a rule, or an operator's own loops. Private to the rewriting.

#include <span>

#include "search/rules/rewriting/apply.hpp"
#include "search/rules/rewriting/redirection.hpp"

namespace rules {

// Returns the graph in which `redirections` hold, or why there is none (apply.hpp). Of the match it asks the nodes alone, which go where
// nobody reads them any more. `parts`: see wire().
[[nodiscard]] base::Attempt<Rewritten> replace(const Match& match, const pcg::Pcg& graph, std::span<const pcg::NodeId> parts,
                                               const Target& target, const Redirections& redirections);

}  // namespace rules
