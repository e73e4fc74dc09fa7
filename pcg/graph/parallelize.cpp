#include "pcg/graph/parallelize.hpp"

#include <fmt/core.h>

#include <map>
#include <unordered_set>

#include "base/check.hpp"

namespace pcg {
namespace {

// Adds the nodes of a graph one by one, each behind the conversions that its inputs need. The same parallel operator on the same
// tensor is made once: so consumers share chains, and chains share what they begin with.
class Parallelizer {
 public:
  Parallelizer(const Graph& graph, std::span<const Sharding> shardings)
      : graph_(graph), shardings_(shardings), builder_(graph.name(), {graph.blocks().begin(), graph.blocks().end()}) {
    for (const GraphNode& n : graph.nodes()) names_.insert(n.name);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) inputs_.push_back(graph.input_shapes(GraphNodeId(n)));
  }

  Pcg run() {
    find_weight_shardings();
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) add(GraphNodeId(n));
    return std::move(builder_).build();
  }

 private:
  // The sharding is checked before shapes are asked for, so that a wrong one is an error of its node.
  void check(std::size_t n) const {
    const GraphNode& node = graph_.nodes()[n];
    if (auto v = violation(*node.space, shardings_[n], inputs_[n], node.outputs)) throw ShapeError(fmt::format("{}: {}", node.name, *v));
  }

  // A weight is cut as its first reader needs it.
  void find_weight_shardings() {
    weights_.resize(graph_.nodes().size());
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const GraphNode& node = graph_.nodes()[n];
      if (std::holds_alternative<Weight>(node.op)) {
        weights_[n] = unsharded(*node.space);
        unread_.insert(n);
        continue;
      }
      check(n);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const std::size_t producer = node.inputs[i].node.value;
        if (unread_.erase(producer) == 0) continue;
        const ParallelShape wanted = input_shape(*node.space, shardings_[n], i, inputs_[n][i]);
        for (std::size_t d = 0; d < wanted.dims.size(); ++d) weights_[producer].degrees[d] = wanted.dims[d].degree;
      }
    }
  }

  void add(GraphNodeId id) {
    const GraphNode& node = graph_.node(id);
    const bool is_weight = std::holds_alternative<Weight>(node.op);
    const Sharding& sharding = is_weight ? weights_[id.value] : shardings_[id.value];
    std::vector<TensorRef> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphTensorRef t = node.inputs[i];
      const ParallelShape wanted = input_shape(*node.space, sharding, i, inputs_[id.value][i]);
      try {
        inputs.push_back(convert({placed_[t.node.value], t.output}, wanted, tensor_name(t), node.block));
      } catch (const ShapeError& e) { throw ShapeError(fmt::format("{}: input {}: {}", node.name, i, e.what())); }
    }
    placed_.push_back(builder_.add(node.name, node.op, std::move(inputs), sharding, node.block));
  }

  TensorRef convert(TensorRef t, const ParallelShape& wanted, const std::string& name, int block) {
    for (const ParallelOperator& op : conversion(builder_.shape(t), wanted)) {
      auto& made = moved_[t];
      TensorRef next;
      bool found = false;
      for (const auto& [other, result] : made)
        if (other == op) {
          next = result;
          found = true;
        }
      if (!found) {
        next = {builder_.add(free_name(fmt::format("{}.{}", name, kind_name(op))), op, t, block), 0};
        made.emplace_back(op, next);
      }
      t = next;
    }
    return t;
  }

  std::string tensor_name(GraphTensorRef t) const {
    const std::string& node = graph_.node(t.node).name;
    return t.output == 0 ? node : fmt::format("{}:{}", node, t.output);
  }

  // Readers may want several parallel shapes of one tensor: the second replicate is called "x.replicate2".
  std::string free_name(const std::string& wish) {
    std::string name = wish;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}{}", wish, n);
    return name;
  }

  const Graph& graph_;
  std::span<const Sharding> shardings_;
  PcgBuilder builder_;
  std::vector<std::vector<TensorShape>> inputs_;                                    // whole shapes, by graph node
  std::vector<Sharding> weights_;                                                   // by graph node; of weights only
  std::unordered_set<std::size_t> unread_;                                          // weights that no reader was met of
  std::vector<NodeId> placed_;                                                      // graph node -> PCG node
  std::map<TensorRef, std::vector<std::pair<ParallelOperator, TensorRef>>> moved_;  // the parallel operators on each tensor
  std::unordered_set<std::string> names_;
};

}  // namespace

Pcg parallelize(const Graph& graph, std::span<const Sharding> shardings) {
  BASE_CHECK(shardings.size() == graph.nodes().size(), "{} shardings for {} nodes", shardings.size(), graph.nodes().size());
  return Parallelizer(graph, shardings).run();
}

std::vector<Sharding> unsharded(const Graph& graph) {
  std::vector<Sharding> shardings;
  for (const GraphNode& n : graph.nodes()) shardings.push_back(unsharded(*n.space));
  return shardings;
}

}  // namespace pcg
