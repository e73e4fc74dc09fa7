#pragma once
// Names of the nodes that a rewrite makes. Private to the rewriting.

#include <string>
#include <vector>

#include "substitutions/rewriting/redirection.hpp"

namespace substitutions {

// Operators take the names of matched ones of their kind that go (a dropout's mask belongs to its name), then of the output that they make;
// everything else is named after what it reads, as pcg::parallelize does. Returns one per node of
// the target. `gone`: by node of the graph.
[[nodiscard]] std::vector<std::string> fresh_names(const Target& target, const Match& match, const pcg::Pcg& graph,
                                                   const Redirections& redirections, const std::vector<bool>& gone);

}  // namespace substitutions
