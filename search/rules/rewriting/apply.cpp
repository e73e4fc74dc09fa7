#include "search/rules/rewriting/apply.hpp"

#include <fmt/core.h>

#include <array>

#include "search/rules/rewriting/replace.hpp"

namespace rules {
namespace {

using pcg::NodeId;

// A rewrite of a regrouped graph as one of the graph before.
Rewritten from_old(Rewritten r, const std::vector<NodeId>& regrouped) {
  std::vector<std::optional<NodeId>> renumbered;
  std::vector<bool> was_there(r.graph.nodes().size());
  for (NodeId n : regrouped) {
    renumbered.push_back(r.renumbered[n.value]);
    if (renumbered.back()) was_there[renumbered.back()->value] = true;
  }
  r.renumbered = std::move(renumbered);
  r.fresh.clear();
  for (std::size_t n = 0; n < was_there.size(); ++n)
    if (!was_there[n]) r.fresh.emplace_back(n);
  return r;
}

base::Attempt<Rewritten> apply_here(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts,
                                    std::span<const int> degrees) {
  std::array<int, 2> bound{};
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (i < match.degrees.size()) bound[i] = match.degrees[i];
    if (bound[i] == 0 && i < degrees.size()) bound[i] = degrees[i];
  }
  base::Attempt<Target> target = instantiate(rule, match, graph, bound);
  if (!target) return target.refusal();
  const base::Attempt<Redirections> redirections = redirect(rule, match, graph, *target);
  if (!redirections) return redirections.refusal();
  return replace(match, graph, parts, *target, *redirections);
}

}  // namespace

base::Attempt<Rewritten> apply(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const int> degrees) {
  if (match.views.empty()) return apply_here(rule, match, graph, {}, degrees);
  const Regrouped regrouped = regroup(graph, match, rule);
  base::Attempt<Rewritten> r = apply_here(rule, regrouped.match, regrouped.graph, regrouped.parts, degrees);
  if (!r) return r;
  return from_old(std::move(*r), regrouped.renumbered);
}

}  // namespace rules
