#pragma once
// The rewritten graph before it is built: which nodes go, and what every other node reads. Private to the rewriting.

#include <span>
#include <vector>

#include "search/rules/rewriting/redirection.hpp"

namespace rules {

// Nodes are numbered: those of the old graph first, then those of the target.
struct Wiring {
  std::vector<bool> gone;                 // by old node
  std::vector<std::vector<Wire>> inputs;  // by node; empty where it goes
  std::vector<bool> joined;               // by node: a concat that became part of another

  [[nodiscard]] std::size_t index(const Wire& node) const { return node.fresh ? gone.size() + node.node : node.node; }
  [[nodiscard]] bool stays(std::size_t i) const { return !joined[i] && (i >= gone.size() || !gone[i]); }
};

// Returns the wiring, or why there is none: outputs would become each other, or a tensor that is read would go.
// A node goes where nobody reads it any more: matched ones, and those that only they read and the target does without, but for sources.
// A concat whose only reader is a concat along the same axis becomes part of that, unless the two stood so before.
// `parts`: nodes that regrouping has added, which did not stand in the graph before.
[[nodiscard]] base::Attempt<Wiring> wire(const Match& match, const pcg::Pcg& graph, std::span<const pcg::NodeId> parts,
                                         const Target& target, const Redirections& redirections);

}  // namespace rules
