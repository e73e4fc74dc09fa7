#pragma once
// Which tensors a rewrite puts in the place of which. Private to the rewriting.

#include <cstddef>
#include <map>
#include <optional>

#include "base/attempt.hpp"
#include "search/rules/rewriting/target.hpp"

namespace rules {

struct Redirections {
  std::map<pcg::TensorRef, Wire> now{};                     // outputs of the occurrence, and what takes their place
  bool of_variable = false;                                 // the source is a variable alone: only nodes outside the target are redirected
  std::size_t first_output = static_cast<std::size_t>(-1);  // the lowest number of a node whose output is replaced

  [[nodiscard]] bool contains(pcg::TensorRef t) const { return now.contains(t); }
  // Returns what stands for a tensor of the old graph in the end; nullopt where outputs would become each other.
  [[nodiscard]] std::optional<Wire> resolve(pcg::TensorRef t) const;
};

// Returns the target's outputs in the place of the occurrence's. Refuses where one would be laid out differently.
// Changes `target` where the rule speaks of one half of a split only: the other half becomes a slice in it, so that the split can go.
[[nodiscard]] base::Attempt<Redirections> redirect(const Rule& rule, const Match& match, const pcg::Pcg& graph, Target& target);

}  // namespace rules
