#pragma once
// A graph in which the concats of two that a match names (ConcatAsTwo) are nodes. Private to the rewriting.

#include <vector>

#include "search/rules/matching/match.hpp"

namespace rules {

struct Regrouped {
  pcg::Pcg graph;                       // computes the same
  Match match;                          // in it; names no views
  std::vector<pcg::NodeId> renumbered;  // by old number: every node is still there
  std::vector<pcg::NodeId> parts;       // those that are new
};
// Returns the graph and the match with every such concat in the place of a part of a longer one. Requires: the match is one of this rule
// and graph.
[[nodiscard]] Regrouped regroup(const pcg::Pcg& graph, const Match& match, const Rule& rule);

}  // namespace rules
