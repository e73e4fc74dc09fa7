#pragma once
// Where the nodes of a rewritten graph stand in it. Private to the rewriting.

#include <vector>

#include "search/rules/rewriting/wiring.hpp"

namespace rules {

struct Ordering {
  std::vector<int> blocks;  // by node of the target
  std::vector<Wire> nodes;  // all that stay, in topological order
};

// Returns an order that keeps the old one as far as it can: nodes of the target come as early as the first output that is replaced, in the
// earliest matched block, or where their inputs are if that is later. Refuses a cycle, and operators of different blocks that would have to
// change places. Cost: O((nodes + wires) log nodes).
[[nodiscard]] base::Attempt<Ordering> order(const Match& match, const pcg::Pcg& graph, const Target& target,
                                            const Redirections& redirections, const Wiring& wiring);

}  // namespace rules
