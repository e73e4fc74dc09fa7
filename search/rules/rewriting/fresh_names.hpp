#pragma once
// Names of the nodes that a rewrite makes. Private to the rewriting.

#include <string>
#include <vector>

#include "search/rules/rewriting/redirection.hpp"

namespace rules {

// Returns one name per node of the target. Operators take the names of matched operators of their kind that go (a dropout's mask belongs to
// its name), then that of the output that they make; other nodes are named after the tensor that they read, as pcg::parallelize does.
// `gone`: by node of the graph.
[[nodiscard]] std::vector<std::string> fresh_names(const Target& target, const Match& match, const pcg::Pcg& graph,
                                                   const Redirections& redirections, const std::vector<bool>& gone);

}  // namespace rules
