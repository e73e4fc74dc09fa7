#include "search/rules/rewriting/replace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string_view>

namespace rules {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

// The order of nodes: by block, then by old number, the target's nodes after the first output that they replace.
struct Place {
  int block;
  std::size_t key, fresh;
  Wire wire;
  auto operator<=>(const Place&) const = default;
};

std::vector<int> blocks_of_target(const Match& match, const pcg::Pcg& graph, const Target& target, const Redirections& redirections) {
  int earliest = redirections.of_variable ? graph.nodes()[redirections.first_output].block : graph.node(match.nodes[0]).block;
  for (pcg::NodeId n : match.nodes) earliest = std::min(earliest, graph.node(n).block);
  std::vector<int> blocks;
  for (const FreshNode& n : target.nodes) {
    int block = earliest;
    for (const Wire& w : n.inputs)
      if (w.fresh || !graph.nodes()[w.node].is_source()) block = std::max(block, w.fresh ? blocks[w.node] : graph.nodes()[w.node].block);
    blocks.push_back(block);
  }
  return blocks;
}

struct Ordering {
  std::vector<int> blocks;  // by node of the target
  std::vector<Wire> nodes;  // all that stay, in topological order
};

// Keeps the old order as far as it can: nodes of the target come as early as the first output that is replaced, in the earliest matched
// block, or where their inputs are if that is later. Refuses a cycle, and operators of different blocks that would have to change places.
base::Attempt<Ordering> order(const Match& match, const pcg::Pcg& graph, const Target& target, const Redirections& redirections,
                              const Wiring& wiring) {
  Ordering result{.blocks = blocks_of_target(match, graph, target, redirections), .nodes = {}};
  const std::size_t old = graph.nodes().size(), all = old + target.nodes.size();
  const auto place = [&](std::size_t i) {
    if (i < old) return Place{graph.nodes()[i].block, i, 0, {false, i, 0}};
    return Place{result.blocks[i - old], redirections.first_output, 1 + i - old, {true, i - old, 0}};
  };
  std::vector<std::vector<std::size_t>> readers(all);
  std::vector<std::size_t> waits(all, 0);
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  std::size_t staying = 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (!wiring.stays(i)) continue;
    ++staying;
    for (const Wire& w : wiring.inputs[i]) readers[wiring.index(w)].push_back(i);
    waits[i] = wiring.inputs[i].size();
    if (waits[i] == 0) ready.push(place(i));
  }
  int block = 0;
  while (!ready.empty()) {
    const Place p = ready.top();
    ready.pop();
    if (p.block < block) return base::Refusal{"operators of different blocks would have to change places"};
    block = p.block;
    result.nodes.push_back(p.wire);
    for (std::size_t r : readers[wiring.index(p.wire)])
      if (--waits[r] == 0) ready.push(place(r));
  }
  if (result.nodes.size() != staying) return base::Refusal{"the graph would have a cycle"};
  return result;
}

bool is_operator(const FreshNode& n) { return n.op.index() == 0; }
std::string_view kind_name(const FreshNode& n) {
  return std::visit([](const auto& op) { return pcg::kind_name(op); }, n.op);
}

std::string free_name(const std::string& wish, std::set<std::string>& taken) {
  std::string name = wish;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}{}", wish, n);
  return name;
}

// One name per node of the target. Operators take the names of matched operators of their kind that go (a dropout's mask belongs to its
// name), then that of the output that they make; other nodes are named after the tensor that they read, as pcg::parallelize does.
std::vector<std::string> fresh_names(const Target& target, const Match& match, const pcg::Pcg& graph, const Redirections& redirections,
                                     const std::vector<bool>& gone) {
  std::set<std::string> taken;
  for (std::size_t n = 0; n < gone.size(); ++n)
    if (!gone[n]) taken.insert(graph.nodes()[n].name);
  std::vector<std::string> result(target.nodes.size());
  const auto take = [&](std::size_t n, pcg::NodeId old) {
    const std::string& name = graph.node(old).name;
    if (result[n].empty() && gone[old.value] && taken.insert(name).second) result[n] = name;
  };
  for (std::size_t n = 0; n < result.size(); ++n)
    for (pcg::NodeId m : match.nodes)
      if (const pcg::Operator* was = graph.node(m).operation();
          was && is_operator(target.nodes[n]) && pcg::kind_name(*was) == kind_name(target.nodes[n]))
        take(n, m);
  for (const auto& [old, now] : redirections.now) {
    Wire w = now;
    while (w.fresh && !is_operator(target.nodes[w.node])) w = target.nodes[w.node].inputs[0];
    if (w.fresh) take(w.node, old.node);
  }
  for (std::size_t n = 0; n < result.size(); ++n) {
    if (!result[n].empty()) continue;
    const Wire& w = target.nodes[n].inputs[0];
    const std::string& read = w.fresh ? result[w.node] : graph.nodes()[w.node].name;
    const std::string wish = fmt::format("{}.{}", w.output == 0 ? read : fmt::format("{}:{}", read, w.output), kind_name(target.nodes[n]));
    result[n] = free_name(wish, taken);
  }
  return result;
}

// A node of the target, or one that was there.
template <class N>
base::Attempt<NodeId> add_like(const N& n, pcg::PcgBuilder& to, const std::string& name, const std::vector<TensorRef>& in, int block) {
  if (const auto* op = std::get_if<pcg::Operator>(&n.op)) return to.try_add(name, *op, in, n.sharding, block);
  return to.try_add(name, std::get<pcg::ParallelOperator>(n.op), in[0], block);
}

// Why the rewritten graph has not the results that it had, in their order; nullopt where it has. `numbers`: the nodes' new ones.
std::optional<base::Refusal> lost_results(const pcg::Pcg& graph, const pcg::Pcg& rewritten, const Redirections& redirections,
                                          const Wiring& wiring, const std::vector<NodeId>& numbers) {
  std::vector<TensorRef> expected;
  for (TensorRef t : graph.results()) {
    const std::optional<Wire> w = redirections.resolve(t);
    if (!w) return base::Refusal{"outputs would become each other"};
    if (!wiring.stays(wiring.index(*w))) return base::Refusal{"a result goes"};
    expected.push_back({numbers[wiring.index(*w)], w->output});
  }
  if (rewritten.results() == expected) return std::nullopt;
  return base::Refusal{"the graph would have other results, or in another order"};
}

base::Attempt<Rewritten> build(const Match& match, const pcg::Pcg& graph, const Target& target, const Redirections& redirections,
                               const Wiring& wiring, const Ordering& ordering) {
  const std::vector<std::string> names = fresh_names(target, match, graph, redirections, wiring.gone);
  pcg::PcgBuilder builder(graph.name(), {graph.blocks().begin(), graph.blocks().end()});
  std::vector<NodeId> numbers(wiring.inputs.size());  // new ones, as they become known
  for (const Wire& at : ordering.nodes) {
    std::vector<TensorRef> in;
    for (const Wire& w : wiring.inputs[wiring.index(at)]) in.push_back({numbers[wiring.index(w)], w.output});
    const pcg::PcgNode* was = at.fresh ? nullptr : &graph.nodes()[at.node];
    const base::Attempt<NodeId> made = was ? add_like(*was, builder, was->name, in, was->block)
                                           : add_like(target.nodes[at.node], builder, names[at.node], in, ordering.blocks[at.node]);
    if (!made) return made.refusal();
    numbers[wiring.index(at)] = *made;
  }
  pcg::Pcg rewritten = std::move(builder).build();
  if (auto why = lost_results(graph, rewritten, redirections, wiring, numbers)) return *std::move(why);
  return Rewritten{std::move(rewritten)};
}

}  // namespace

base::Attempt<Rewritten> replace(const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts, const Target& target,
                                 const Redirections& redirections) {
  const base::Attempt<Wiring> wiring = wire(match, graph, parts, target, redirections);
  if (!wiring) return wiring.refusal();
  const base::Attempt<Ordering> ordering = order(match, graph, target, redirections, *wiring);
  return ordering ? build(match, graph, target, redirections, *wiring, *ordering) : ordering.refusal();
}

}  // namespace rules
