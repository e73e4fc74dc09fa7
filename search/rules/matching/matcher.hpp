#pragma once
// Occurrences of rules' sources in a parallel computation graph. Start here:
//   matcher.hpp      Matcher: finds them in one graph after another; census(): how many there are by rule
//   match.hpp        Match: one occurrence, with the sizes of the rule's letters
//   pattern.hpp      compile(): a rule made ready (Pattern); occurrences(): the search for one rule (occurrence.cpp)
//   graph_index.hpp  GraphIndex: a graph made ready

#include <cstddef>
#include <span>
#include <vector>

#include "pcg/graph/pcg.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/matching/match.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {

// Finds matches through an index by operator kind.
// Cost: an index O(nodes + edges + inputs^2 of concats and sums); a search O(candidates of the rarest operator of each rule), times the
// choices at commutative inputs and tensors of several readers.
class Matcher {
 public:
  Matcher(std::span<const Rule> rules, const pcg::Pcg& graph);
  void restart(const pcg::Pcg& graph);                                          // the same rules on another graph
  [[nodiscard]] const std::vector<Match>& matches() const { return matches_; }  // ordered by rule, nodes, variables, row, views

 private:
  std::vector<base::Attempt<Pattern>> patterns_;  // by rule
  std::vector<Match> matches_;
};

// --- census: the occurrences of a set of rules, by rule ---

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

// Returns: the operators of an occurrence, ascending, each once.
[[nodiscard]] std::vector<pcg::NodeId> place_of(const Match& m);

// Returns: the occurrences of rules' sources. Whether a target fits there at some degree is for apply() (rewriting/apply.hpp) to say.
// Cost: that of a new Matcher.
[[nodiscard]] Census census(std::span<const Rule> rules, const pcg::Pcg& graph);

}  // namespace rules
