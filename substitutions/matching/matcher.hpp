#pragma once
// Occurrences of rules' sources in a parallel computation graph.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/graph/pcg.hpp"
#include "substitutions/language/rule.hpp"
#include "substitutions/matching/match.hpp"

namespace substitutions {

// Finds matches through an index by operator kind and the kinds of neighbours; after a rewrite it looks again only near the rewrite.
// Cost: first index O(nodes + edges); a search O(candidates of the rarest operator of each rule).
class Matcher {
 public:
  Matcher(std::span<const Rule> rules, const pcg::Pcg& graph);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  void restart(const pcg::Pcg& graph);                      // the same rules on another graph
  [[nodiscard]] const std::vector<Match>& matches() const;  // ordered by rule, nodes, variables, row, views
  // Updates the matches: the graph has become `after` by a rewrite that added `fresh` (numbers in `after`); `renumbered[i]` is where node i
  // went, nullopt: it is gone.
  void update(const pcg::Pcg& after, std::span<const pcg::NodeId> fresh, std::span<const std::optional<pcg::NodeId>> renumbered);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace substitutions
