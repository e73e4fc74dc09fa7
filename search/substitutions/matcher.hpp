#pragma once
// Rules at work on parallel computation graphs: occurrences of a rule's source, and the graph with its target in their place.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/pcg.hpp"
#include "search/substitutions/rule.hpp"

namespace substitutions {

// A tensor has more dims than a rule's matrices where it has more than one kind of row (batch, sequence): a rule's dim 0 is then one of
// them.
struct Match {
  std::size_t rule = 0;                   // index into the rules given
  std::vector<pcg::NodeId> nodes;         // of the graph, one per operator of the source, in its order
  std::vector<pcg::TensorRef> variables;  // one per variable
  int row = 0;                            // the dim that a matrix's dim 0 stands for
  std::vector<int> degrees;               // of d and e as the source binds them; 0: free, the caller chooses
  bool operator==(const Match&) const = default;
};

// Finds matches through an index by operator kind and the kinds of neighbours; after a rewrite only what lies near it is looked at again.
// Cost: first index O(nodes + edges); a search O(candidates of the rarest operator of each rule).
class Matcher {
 public:
  Matcher(std::span<const Rule> rules, const pcg::Pcg& graph);
  ~Matcher();
  [[nodiscard]] const std::vector<Match>& matches() const;  // ordered by rule, then nodes
  // The graph has become `after` by a rewrite that removed `gone` and added `fresh` (numbers in `after`); `renumbered[i]` is where node i
  // went.
  void update(const pcg::Pcg& after, std::span<const pcg::NodeId> fresh, std::span<const std::optional<pcg::NodeId>> renumbered);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Rewritten {
  pcg::Pcg graph;
  std::vector<pcg::NodeId> fresh;
  std::vector<std::optional<pcg::NodeId>> renumbered;  // by old number; nullopt: gone
};
// Pure. `degrees` gives d and e where the match leaves them free. Attributes that the rule leaves free (names, biases' presence, heads,
// what a kind does not mention) are those of the matched operators. Nullopt, with the reason, when the result would not be well typed
// there, would make a cycle, or would remove a tensor that is used elsewhere.
struct Refusal {
  std::string reason;
};
[[nodiscard]] std::optional<Rewritten> apply(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const int> degrees,
                                             Refusal* why = nullptr);

}  // namespace substitutions
