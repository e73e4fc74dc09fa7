#pragma once
// Where the rules of a set occur in a graph, gathered by rule: what a reader of a rule set asks, where a planner asks the Matcher.

#include <cstddef>
#include <span>
#include <vector>

#include "search/rules/matching/match.hpp"

namespace rules {

struct RuleOccurrences {
  std::size_t rule = 0;    // index into the rules given
  std::size_t first = 0;   // index into Census::matches
  std::size_t count = 0;   // from there on; at least 1
  std::size_t places = 0;  // sets of operators: an addition of x and y is an occurrence of add(x, y) twice, at one place
  bool operator==(const RuleOccurrences&) const = default;
};

struct Census {
  std::vector<Match> matches;          // in the order of Matcher::matches()
  std::vector<RuleOccurrences> rules;  // those that occur: most occurrences first, then in the order given
  std::vector<pcg::NodeId> operators;  // of the graph, ascending: all nodes but inputs and weights
  std::vector<pcg::NodeId> untouched;  // those of them that are in no occurrence, ascending
};

// Returns the operators of an occurrence, ascending, each once.
[[nodiscard]] std::vector<pcg::NodeId> place_of(const Match& m);

// Returns the occurrences of rules' sources. Whether a target can stand there at some degree is for apply() (rewriting/apply.hpp) to say.
// Cost: that of a new Matcher.
[[nodiscard]] Census census(std::span<const Rule> rules, const pcg::Pcg& graph);

}  // namespace rules
