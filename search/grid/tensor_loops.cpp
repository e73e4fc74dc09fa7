#include "search/grid/layout.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "pcg/sharding/sharding.hpp"

namespace search {
namespace {

using pcg::Graph;
using pcg::GraphNode;
using pcg::GraphNodeId;
using pcg::GraphTensorRef;

template <class... Operators>
bool is_any(const GraphNode& n) {
  return (std::holds_alternative<Operators>(n.op) || ...);
}

bool is_linear(const GraphNode& n) { return is_any<pcg::Linear, pcg::ExpertLinear>(n); }

// Operators that work on their part of a cut tensor as they would on the whole.
bool passes_through(const GraphNode& n) {
  return is_any<pcg::Unary, pcg::Binary, pcg::Dropout, pcg::Attention, pcg::StateSpace, pcg::Reshape, pcg::Transpose>(n);
}

// Tries to cut one linear layer by columns, and with it all that must then be cut too: what reads its result, and what else those
// readers read. Either all of it works out, or nothing is cut.
class Region {
 public:
  Region(const Graph& graph, const std::vector<std::vector<GraphNodeId>>& consumers, const std::vector<int>& decided,
         const std::vector<int>& block_stages, int degree)
      : graph_(graph), consumers_(consumers), decided_(decided), block_stages_(block_stages), degree_(degree) {}

  // The loops to cut by node, or nothing when it does not work out.
  std::map<std::size_t, int> grow_from(GraphNodeId linear) {
    stage_ = stage_of(graph_.node(linear));
    bool sound = cut_columns(linear);
    while (sound && !pending_.empty()) {
      const GraphTensorRef t = pending_.back();
      pending_.pop_back();
      sound = cut_readers(t);
    }
    sound = sound && rows_ > 0;
    for (GraphNodeId c : columns_)
      if (dims_.contains(graph_.node(c).inputs[0])) sound = false;  // one of the columns reads a result of the others
    return sound ? cut_ : std::map<std::size_t, int>{};
  }

 private:
  int stage_of(const GraphNode& n) const { return block_stages_[static_cast<std::size_t>(n.block)]; }
  const pcg::IterationSpace& space(GraphNodeId n) const { return *graph_.node(n).space; }

  bool cut_loop(GraphNodeId n, int loop) {
    if (!can_cut(graph_, n, loop, degree_)) return false;
    const auto [it, added] = cut_.emplace(n.value, loop);
    return added || it->second == loop;
  }

  bool cut_tensor(GraphTensorRef t, int dim) {
    const auto [it, added] = dims_.emplace(t, dim);
    if (added) pending_.push_back(t);
    return it->second == dim;
  }

  bool cut_columns(GraphNodeId n) {
    if (decided_[n.value] >= 0 || stage_of(graph_.node(n)) != stage_) return false;
    const int loop = pcg::find_loop(space(n), "n");
    if (std::ranges::find(columns_, n) == columns_.end()) columns_.push_back(n);
    return cut_loop(n, loop) && cut_tensor({n, 0}, static_cast<int>(space(n).outputs[0].size()) - 1);
  }

  bool cut_readers(GraphTensorRef t) {
    if (consumers_[t.node.value].empty()) return false;  // a result
    for (GraphNodeId c : consumers_[t.node.value])
      for (std::size_t i = 0; i < graph_.node(c).inputs.size(); ++i)
        if (graph_.node(c).inputs[i] == t && !cut_reader(c, i, dims_.at(t))) return false;
    return true;
  }

  bool cut_reader(GraphNodeId n, std::size_t input, int dim) {
    const GraphNode& node = graph_.node(n);
    const pcg::IterationSpace& s = space(n);
    const int loop = s.inputs[input][static_cast<std::size_t>(dim)];
    if (stage_of(node) != stage_ || loop < 0) return false;
    if (is_linear(node)) {
      ++rows_;
      if (decided_[n.value] >= 0 && decided_[n.value] != loop) return false;  // it is cut with others already
      return input == 0 && s.loops[static_cast<std::size_t>(loop)].name == "k" && cut_loop(n, loop);
    }
    if (std::holds_alternative<pcg::CrossEntropy>(node.op)) {
      ++rows_;
      return input == 0 && s.loops[static_cast<std::size_t>(loop)].name == "class" && cut_loop(n, loop);
    }
    return passes_through(node) && cut_whole(n, loop);
  }

  // An operator in between: all its tensors that the loop indexes are cut along it.
  bool cut_whole(GraphNodeId n, int loop) {
    if (cut_.contains(n.value)) return cut_.at(n.value) == loop;
    // Cutting positions is the business of context parallelism.
    if (space(n).loops[static_cast<std::size_t>(loop)].cut != pcg::Cut::free || !cut_loop(n, loop)) return false;
    const pcg::IterationSpace& s = space(n);
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
      for (std::size_t d = 0; d < s.inputs[i].size(); ++d)
        if (s.inputs[i][d] == loop && !cut_producer(graph_.node(n).inputs[i], static_cast<int>(d))) return false;
    for (std::size_t d = 0; d < s.outputs[0].size(); ++d)
      if (s.outputs[0][d] == loop) return cut_tensor({n, 0}, static_cast<int>(d));
    return false;
  }

  bool cut_producer(GraphTensorRef t, int dim) {
    if (const auto known = dims_.find(t); known != dims_.end()) return known->second == dim;
    const GraphNode& producer = graph_.node(t.node);
    if (is_source(producer)) return true;  // weights and data lie where they are read
    const pcg::IterationSpace& s = space(t.node);
    if (is_linear(producer)) return dim == static_cast<int>(s.outputs[0].size()) - 1 && cut_columns(t.node);
    const int loop = s.outputs[static_cast<std::size_t>(t.output)][static_cast<std::size_t>(dim)];
    return stage_of(producer) == stage_ && loop >= 0 && passes_through(producer) && cut_whole(t.node, loop);
  }

  const Graph& graph_;
  const std::vector<std::vector<GraphNodeId>>& consumers_;
  const std::vector<int>& decided_;
  const std::vector<int>& block_stages_;
  int degree_;
  int stage_ = 0;
  int rows_ = 0;
  std::map<std::size_t, int> cut_;       // node -> loop
  std::map<GraphTensorRef, int> dims_;   // tensor -> dim that is cut
  std::vector<GraphTensorRef> pending_;  // cut tensors whose readers were not seen yet
  std::vector<GraphNodeId> columns_;
};

std::optional<Refusal> indivisible_heads(const Graph& graph, const std::vector<int>& loops, int degree) {
  for (std::size_t n = 0; n < loops.size(); ++n) {
    const auto* scan = std::get_if<pcg::StateSpace>(&graph.nodes()[n].op);
    if (scan != nullptr && loops[n] < 0 && scan->groups % degree != 0)
      return refuse(Constraint::heads, "{}: {} groups of state space heads do not divide by tensor {}", graph.nodes()[n].name, scan->groups,
                    degree);
    const auto* attention = std::get_if<pcg::Attention>(&graph.nodes()[n].op);
    if (attention == nullptr || loops[n] >= 0 || attention->kv_heads % degree == 0) continue;
    const bool grouped = attention->kv_heads != attention->heads;
    return refuse(Constraint::heads, "{}: {} {} do not divide by tensor {}", graph.nodes()[n].name, attention->kv_heads,
                  grouped ? "key-value heads" : "attention heads", degree);
  }
  return std::nullopt;
}

}  // namespace

bool is_source(const GraphNode& node) { return is_any<pcg::Weight, pcg::Input>(node); }

bool can_cut(const Graph& graph, GraphNodeId id, int loop, int degree) {
  if (loop < 0) return false;
  const GraphNode& node = graph.node(id);
  pcg::Sharding sharding = pcg::unsharded(*node.space);
  sharding.degrees[static_cast<std::size_t>(loop)] = degree;
  return !pcg::violation(*node.space, sharding, graph.input_shapes(id), node.outputs);
}

std::int64_t word_vocabulary(const Graph& graph) {
  std::int64_t largest = 0;
  for (const GraphNode& n : graph.nodes())
    if (const auto* e = std::get_if<pcg::Embedding>(&n.op)) largest = std::max(largest, e->vocabulary);
  return largest;
}

Attempt<std::vector<int>> tensor_loops(const Graph& graph, const std::vector<int>& block_stages, int degree) {
  std::vector<int> loops(graph.nodes().size(), -1);
  if (degree == 1) return loops;
  const auto consumers = graph.consumers();
  const std::int64_t vocabulary = word_vocabulary(graph);
  for (std::size_t n = 0; n < loops.size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    if (const auto* e = std::get_if<pcg::Embedding>(&node.op); e != nullptr && e->vocabulary == vocabulary) {
      const int v = pcg::find_loop(*node.space, "v");
      if (can_cut(graph, GraphNodeId(n), v, degree)) loops[n] = v;
    } else if (is_linear(node) && loops[n] < 0) {
      for (const auto& [cut, loop] : Region(graph, consumers, loops, block_stages, degree).grow_from(GraphNodeId(n))) loops[cut] = loop;
    }
  }
  if (auto refused = indivisible_heads(graph, loops, degree)) return *refused;
  if (std::ranges::all_of(loops, [](int l) { return l < 0; }))
    return refuse(Constraint::operators, "no operator of {} can be cut by tensor {}", graph.name(), degree);
  return loops;
}

}  // namespace search
