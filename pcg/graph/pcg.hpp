#pragma once
// The parallel computation graph: the operators of a computation graph, each with its sharding, and parallel operators wherever
// the parallel shape of a tensor changes. It is typed: an edge joins equal parallel shapes, so an ill-typed PCG cannot be built. It is a
// value, immutable after building, its nodes in topological order, and describes one micro-batch. Weights are nodes: a Replicate makes
// copies of one, and the backward pass of that Replicate is the synchronisation of the gradient.

#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "pcg/sharding/sharding.hpp"

namespace pcg {

using NodeId = base::Id<struct PcgNodeTag>;  // not a GraphNodeId: a PCG numbers its nodes anew

struct TensorRef {  // output number `output` of a node of a PCG
  NodeId node;
  int output = 0;
  auto operator<=>(const TensorRef&) const = default;
};

struct PcgNode {
  std::string name;  // unique
  std::variant<Operator, ParallelOperator> op;
  std::vector<TensorRef> inputs;
  Sharding sharding;  // of an Operator (Input and Weight: one loop per dim); empty for a parallel operator
  std::vector<ParallelShape> outputs;
  int block = 0;  // index into Pcg::blocks()
  // The loops of an Operator on whole inputs: derived when the node is made, shared by copies of the graph. Null for a parallel operator.
  std::shared_ptr<const IterationSpace> space;

  [[nodiscard]] const Operator* operation() const { return std::get_if<Operator>(&op); }
  [[nodiscard]] const ParallelOperator* parallel_operator() const { return std::get_if<ParallelOperator>(&op); }
  [[nodiscard]] bool is_weight() const { return operation() && std::holds_alternative<Weight>(*operation()); }
  // A weight that an optimizer updates.
  [[nodiscard]] bool is_trained() const { return is_weight() && !std::get<Weight>(*operation()).frozen; }
  [[nodiscard]] bool is_input() const { return operation() && std::holds_alternative<Input>(*operation()); }
  [[nodiscard]] bool is_source() const { return is_weight() || is_input(); }
  [[nodiscard]] bool computes() const { return operation() && !is_source(); }
  bool operator==(const PcgNode& o) const;  // what is derived follows from the rest and is not compared
};
[[nodiscard]] std::string_view kind_name(const PcgNode& n);  // of its operator

class Pcg {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const PcgNode> nodes() const { return nodes_; }
  [[nodiscard]] const PcgNode& node(NodeId id) const { return nodes_[id.value]; }
  [[nodiscard]] std::span<const Block> blocks() const { return blocks_; }
  [[nodiscard]] const ParallelShape& shape(TensorRef t) const { return nodes_[t.node.value].outputs[static_cast<std::size_t>(t.output)]; }
  // Returns the tensors that no node reads, in node order; an unread source is no result.
  [[nodiscard]] std::vector<TensorRef> results() const;
  [[nodiscard]] std::vector<std::vector<NodeId>> consumers() const;  // consumers_of()
  // The shapes of a node's inputs and outputs: of whole tensors, and of one shard of each.
  [[nodiscard]] std::vector<TensorShape> whole_inputs(NodeId id) const;
  [[nodiscard]] std::vector<TensorShape> whole_outputs(NodeId id) const;
  [[nodiscard]] std::vector<TensorShape> shard_inputs(NodeId id) const;
  [[nodiscard]] std::vector<TensorShape> shard_outputs(NodeId id) const;
  bool operator==(const Pcg&) const = default;

 private:
  friend class PcgBuilder;
  std::string name_;
  std::vector<PcgNode> nodes_;
  std::vector<Block> blocks_;
};

class PcgBuilder {
 public:
  PcgBuilder(std::string name, std::vector<Block> blocks);
  // Add a node after those that are there. Refuse, naming the node, when the operator refuses its inputs, the sharding is unlawful, an
  // input's parallel shape is not the one that the sharding asks for, the name is taken, or the block does not exist; the builder is then
  // as it was. try_: return the refusal; the others throw it as a ShapeError.
  [[nodiscard]] base::Attempt<NodeId> try_add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block);
  [[nodiscard]] base::Attempt<NodeId> try_add(std::string name, ParallelOperator op, TensorRef input, int block);
  NodeId add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block);
  NodeId add(std::string name, ParallelOperator op, TensorRef input, int block);
  [[nodiscard]] const ParallelShape& shape(TensorRef t) const;
  [[nodiscard]] const PcgNode& node(NodeId id) const;
  [[nodiscard]] Pcg build() &&;

 private:
  base::Attempt<NodeId> append(PcgNode node);

  Pcg pcg_;
  std::unordered_set<std::string> names_;
};

// Returns the same graph without parallelism: no parallel operators, every degree 1, additions (of one summand: an
// identity) in place of summands. serial(parallelize(g, shardings)) == g, but where g has summands. Requires: the operators are in the
// order of their blocks (violations() of a plan says where not).
[[nodiscard]] Graph serial(const Pcg& pcg);

// Return DOT text for Graphviz, parallel operators coloured.
[[nodiscard]] std::string to_dot(const Pcg& pcg);
[[nodiscard]] std::string to_dot(const Graph& graph);

// Builds the PCG of a graph by inserting parallel operators wherever the parallel shape that a reader wants differs from the one that is
// there. Readers that want one parallel shape of a tensor share one chain of them. Every planner but Unity builds its PCG through this.
//   Requires: one sharding per node of the graph. Those of weights are ignored: a weight is cut as its first reader needs it.
//   Keeps:    the names of nodes; a parallel operator is named after its tensor ("layer0.qkv.replicate").
//   Throws:   ShapeError, naming the node, when a sharding is unlawful.
[[nodiscard]] Pcg parallelize(const Graph& graph, std::span<const Sharding> shardings);

// Returns one sharding per node with every degree 1: parallelize(graph, unsharded(graph)) runs on one device.
[[nodiscard]] std::vector<Sharding> unsharded(const Graph& graph);

}  // namespace pcg
