#pragma once
// A target takes the place of matched nodes, whatever it comes from: a rule, or an operator's own loops. Private to the rewriting.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/attempt.hpp"
#include "search/rules/matching/match.hpp"
#include "search/rules/rewriting/apply.hpp"
#include "search/rules/rewriting/target.hpp"

namespace rules {

// Which tensors a rewrite puts in the place of which.
struct Redirections {
  std::map<pcg::TensorRef, Wire> now{};                     // outputs of the occurrence, and what takes their place
  bool of_variable = false;                                 // the source is a variable alone: only nodes outside the target are redirected
  std::size_t first_output = static_cast<std::size_t>(-1);  // the lowest number of a node whose output is replaced

  // Returns: what stands for a tensor of the old graph in the end; nullopt where outputs would become each other.
  [[nodiscard]] std::optional<Wire> resolve(pcg::TensorRef t) const;
};

// Returns: the target's outputs in the place of the occurrence's. Refuses where one would be laid out differently. Changes `target` where
// the rule speaks of one half of a split only: the other half becomes a slice in it, so that the split can go.
[[nodiscard]] base::Attempt<Redirections> redirect(const Rule& rule, const Match& match, const pcg::Pcg& graph, Target& target);

// Nodes are numbered: those of the old graph first, then those of the target.
struct Wiring {
  std::vector<bool> gone;                 // by old node
  std::vector<std::vector<Wire>> inputs;  // by node; empty where it goes
  std::vector<bool> joined;               // by node: a concat that became part of another

  [[nodiscard]] std::size_t index(const Wire& node) const { return node.fresh ? gone.size() + node.node : node.node; }
  [[nodiscard]] bool stays(std::size_t i) const { return !joined[i] && (i >= gone.size() || !gone[i]); }
};

// Returns: the wiring, or why there is none: outputs would become each other, or a tensor that is read would go. A node goes where it is no
// longer read: matched ones, and those that only they read and the target does without, but for sources. A concat whose only reader is a
// concat along the same axis becomes part of that, unless the two were so before. `parts`: nodes that regrouping has added, which were not
// in the graph before.
[[nodiscard]] base::Attempt<Wiring> wire(const Match& match, const pcg::Pcg& graph, std::span<const pcg::NodeId> parts,
                                         const Target& target, const Redirections& redirections);

// Returns: the graph in which `redirections` hold, or why there is none (apply.hpp). Of the match it asks the nodes alone, which go where
// they are no longer read. `parts`: see wire().
[[nodiscard]] base::Attempt<Rewritten> replace(const Match& match, const pcg::Pcg& graph, std::span<const pcg::NodeId> parts,
                                               const Target& target, const Redirections& redirections);

}  // namespace rules
