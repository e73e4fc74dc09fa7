#include "search/rules/rewriting/ordering.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace rules {
namespace {

// A node's turn: by block, then by its old number, the target's nodes after the first output that they replace.
struct Place {
  int block;
  std::size_t key, fresh;
  Wire wire;
  bool operator>(const Place& o) const { return std::tie(block, key, fresh) > std::tie(o.block, o.key, o.fresh); }
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

}  // namespace

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

}  // namespace rules
