#pragma once
// Names of the nodes that a rewrite makes. Private to the rewriting.

#include <map>
#include <string>
#include <vector>

#include "substitutions/rewriting/target.hpp"

namespace substitutions {

// Operators take the names of matched ones of their kind that go (a dropout's mask belongs to its name), then of the output that they make;
// everything else is named after what it reads, as pcg::parallelize does. By node of the target; `redirected`: outputs of the occurrence
// and what takes their place; `gone`: by node of the graph.
[[nodiscard]] std::vector<std::string> fresh_names(const Target& target, const Match& match, const pcg::Pcg& graph,
                                                   const std::map<pcg::TensorRef, Wire>& redirected, const std::vector<bool>& gone);

}  // namespace substitutions
