#include "search/grid/repeated_layers.hpp"

#include <algorithm>
#include <vector>

namespace search {
namespace {

using pcg::Graph;
using pcg::GraphNode;
using pcg::GraphNodeId;
using pcg::GraphTensorRef;

// The number of the first node of each block, and one after the last.
std::vector<std::size_t> first_nodes(const Graph& graph) {
  std::vector<std::size_t> first(graph.blocks().size() + 1, graph.nodes().size());
  for (std::size_t n = graph.nodes().size(); n-- > 0;) first[static_cast<std::size_t>(graph.nodes()[n].block)] = n;
  // A block without nodes begins where the next one does.
  for (std::size_t b = graph.blocks().size(); b-- > 0;) first[b] = std::min(first[b], first[b + 1]);
  return first;
}

class Runs {
 public:
  explicit Runs(const Graph& graph) : graph_(graph), first_(first_nodes(graph)) {}

  // The longest run of units of `unit` blocks, of two units at least; else none.
  [[nodiscard]] RepeatedLayers longest(std::size_t unit) const {
    RepeatedLayers longest{0, 0, unit};
    std::size_t alike = 0;  // blocks in a row that are as those a unit before them
    for (std::size_t b = unit; b < graph_.blocks().size(); ++b) {
      alike = repeats(b, unit) ? alike + 1 : 0;
      if (alike >= unit && alike / unit + 1 > longest.count) longest = {b + 1 - alike - unit, alike / unit + 1, unit};
    }
    return longest;
  }

 private:
  // The block is as the one `distance` blocks before it.
  [[nodiscard]] bool repeats(std::size_t block, std::size_t distance) const {
    const std::size_t here = first_[block], before = first_[block - distance], nodes = first_[block + 1] - here;
    if (!graph_.blocks()[block].weighty || !graph_.blocks()[block - distance].weighty) return false;
    if (first_[block - distance + 1] - before != nodes) return false;
    for (std::size_t i = 0; i < nodes; ++i)
      if (!is_same(before + i, here + i, here - before)) return false;
    return true;
  }

  // Inputs from outside the block only have to look alike.
  [[nodiscard]] bool is_same(std::size_t a, std::size_t b, std::size_t distance) const {
    const GraphNode &x = graph_.nodes()[a], &y = graph_.nodes()[b];
    if (x.op != y.op || x.outputs != y.outputs || x.inputs.size() != y.inputs.size()) return false;
    for (std::size_t i = 0; i < x.inputs.size(); ++i) {
      if (graph_.shape(x.inputs[i]) != graph_.shape(y.inputs[i])) return false;
      const bool own = graph_.node(x.inputs[i].node).block == x.block;
      if (own && y.inputs[i] != GraphTensorRef{GraphNodeId(x.inputs[i].node.value + distance), x.inputs[i].output}) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<std::size_t> first_;
};

}  // namespace

RepeatedLayers repeated_layers(const Graph& graph) {
  const Runs runs(graph);
  RepeatedLayers longest;
  for (std::size_t unit = 1; unit <= kLargestUnit; ++unit)
    if (const RepeatedLayers run = runs.longest(unit); run.blocks() > longest.blocks()) longest = run;
  const auto weighty = std::ranges::find_if(graph.blocks(), &pcg::Block::weighty);
  if (longest.count == 0 && weighty != graph.blocks().end()) longest = {static_cast<std::size_t>(weighty - graph.blocks().begin()), 1, 1};
  return longest;
}

Graph with_layers(const Graph& graph, const RepeatedLayers& run, std::size_t kept) {
  const std::vector<std::size_t> first = first_nodes(graph);
  const std::size_t blocks_kept = run.first + kept * run.unit, blocks_end = run.first + run.blocks();
  const std::size_t gone = first[blocks_kept], end = first[blocks_end], unit = first[run.first + run.unit] - first[run.first];
  // A node of a unit that is gone becomes its counterpart in the last unit that is kept.
  const auto new_node = [&](std::size_t old) {
    if (old < gone) return old;
    if (old >= end) return old - (end - gone);
    return gone - unit + (old - gone) % unit;
  };
  pcg::GraphBuilder builder(graph.name());
  int block = -1;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (n >= gone && n < end) continue;
    const GraphNode& node = graph.nodes()[n];
    for (; block < node.block; ++block) {
      const std::size_t next = static_cast<std::size_t>(block) + 1;
      if (next < blocks_kept || next >= blocks_end) builder.begin_block(graph.blocks()[next]);
    }
    std::vector<GraphTensorRef> inputs = node.inputs;
    for (GraphTensorRef& t : inputs) t.node = GraphNodeId(new_node(t.node.value));
    builder.add_raw(node.name, node.op, std::move(inputs));
  }
  return std::move(builder).build();
}

}  // namespace search
