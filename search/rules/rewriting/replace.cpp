#include "search/rules/rewriting/replace.hpp"

#include "search/rules/rewriting/fresh_names.hpp"
#include "search/rules/rewriting/ordering.hpp"

namespace rules {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

base::Attempt<NodeId> add_fresh(pcg::PcgBuilder& to, const FreshNode& n, const std::string& name, const std::vector<TensorRef>& in,
                                int block) {
  if (const auto* op = std::get_if<pcg::Operator>(&n.op)) return to.try_add(name, *op, in, n.sharding, block);
  return to.try_add(name, std::get<pcg::ParallelOperator>(n.op), in[0], block);
}
base::Attempt<NodeId> add_old(pcg::PcgBuilder& to, const pcg::PcgNode& n, const std::vector<TensorRef>& in) {
  if (n.operation()) return to.try_add(n.name, *n.operation(), in, n.sharding, n.block);
  return to.try_add(n.name, *n.parallel_operator(), in[0], n.block);
}

// The nodes' new numbers, as they become known.
struct Renumbering {
  std::vector<std::optional<NodeId>> old;
  std::vector<NodeId> fresh;
  [[nodiscard]] TensorRef of(const Wire& w) const { return {w.fresh ? fresh[w.node] : *old[w.node], w.output}; }
};

// Why the rewritten graph has not the results that it had, in their order; nullopt where it has.
std::optional<base::Refusal> lost_results(const pcg::Pcg& graph, const pcg::Pcg& rewritten, const Redirections& redirections,
                                          const Wiring& wiring, const Renumbering& numbers) {
  std::vector<TensorRef> expected;
  for (TensorRef t : graph.results()) {
    const std::optional<Wire> w = redirections.resolve(t);
    if (!w) return base::Refusal{"outputs would become each other"};
    if (!wiring.stays(wiring.index(*w))) return base::Refusal{"a result goes"};
    expected.push_back(numbers.of(*w));
  }
  if (rewritten.results() == expected) return std::nullopt;
  return base::Refusal{"the graph would have other results, or in another order"};
}

base::Attempt<Rewritten> build(const Match& match, const pcg::Pcg& graph, const Target& target, const Redirections& redirections,
                               const Wiring& wiring, const Ordering& ordering) {
  const std::vector<std::string> names = fresh_names(target, match, graph, redirections, wiring.gone);
  pcg::PcgBuilder builder(graph.name(), {graph.blocks().begin(), graph.blocks().end()});
  Renumbering numbers{std::vector<std::optional<NodeId>>(wiring.gone.size()), std::vector<NodeId>(target.nodes.size())};
  for (const Wire& at : ordering.nodes) {
    std::vector<TensorRef> in;
    for (const Wire& w : wiring.inputs[wiring.index(at)]) in.push_back(numbers.of(w));
    const base::Attempt<NodeId> made = at.fresh ? add_fresh(builder, target.nodes[at.node], names[at.node], in, ordering.blocks[at.node])
                                                : add_old(builder, graph.nodes()[at.node], in);
    if (!made) return made.refusal();
    if (at.fresh) numbers.fresh[at.node] = *made;
    else numbers.old[at.node] = *made;
  }
  pcg::Pcg rewritten = std::move(builder).build();
  if (auto why = lost_results(graph, rewritten, redirections, wiring, numbers)) return *std::move(why);
  Rewritten r{.graph = std::move(rewritten), .fresh = {}, .renumbered = std::move(numbers.old)};
  for (std::size_t n = 0; n < numbers.fresh.size(); ++n)
    if (!wiring.joined[wiring.gone.size() + n]) r.fresh.push_back(numbers.fresh[n]);
  return r;
}

}  // namespace

base::Attempt<Rewritten> replace(const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts, const Target& target,
                                 const Redirections& redirections) {
  const base::Attempt<Wiring> wiring = wire(match, graph, parts, target, redirections);
  if (!wiring) return wiring.refusal();
  const base::Attempt<Ordering> ordering = order(match, graph, target, redirections, *wiring);
  if (!ordering) return ordering.refusal();
  return build(match, graph, target, redirections, *wiring, *ordering);
}

}  // namespace rules
