#pragma once
// The parallel computation graph: the operators of a computation graph, each with its sharding, and parallel operators wherever
// the layout of a tensor changes. Typed: an edge joins equal parallel shapes, so an ill-typed PCG cannot be built. A value,
// immutable after building, nodes in topological order. It describes one micro-batch. Weights are nodes: what makes copies of
// one is a Replicate, whose backward is the gradient's synchronisation.

#include <span>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/sharding/parallel.hpp"

namespace pcg {

using NodeId = base::Id<struct PcgNodeTag>;  // another type than a computation graph's GraphNodeId: the two numberings differ

struct TensorRef {  // output number `output` of a node of a PCG
  NodeId node;
  int output = 0;
  auto operator<=>(const TensorRef&) const = default;
};

struct PcgNode {
  std::string name;  // unique
  std::variant<Operator, ParallelOperator> op;
  std::vector<TensorRef> inputs;
  Sharding sharding;  // of an Operator; empty for a parallel one. Input and Weight: one loop per dim
  std::vector<ParallelShape> outputs;
  int block = 0;  // index into Pcg::blocks()

  [[nodiscard]] const Operator* operation() const { return std::get_if<Operator>(&op); }
  [[nodiscard]] const ParallelOperator* movement() const { return std::get_if<ParallelOperator>(&op); }
  [[nodiscard]] bool is_weight() const { return operation() && std::holds_alternative<Weight>(*operation()); }
  [[nodiscard]] bool is_input() const { return operation() && std::holds_alternative<Input>(*operation()); }
  [[nodiscard]] bool is_source() const { return is_weight() || is_input(); }
  [[nodiscard]] bool computes() const { return operation() && !is_source(); }
  bool operator==(const PcgNode&) const = default;
};

class Pcg {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const PcgNode> nodes() const { return nodes_; }
  [[nodiscard]] const PcgNode& node(NodeId id) const { return nodes_[id.value]; }
  [[nodiscard]] std::span<const Block> blocks() const { return blocks_; }
  [[nodiscard]] const ParallelShape& shape(TensorRef t) const { return nodes_[t.node.value].outputs[static_cast<std::size_t>(t.output)]; }
  [[nodiscard]] std::vector<TensorRef> results() const;
  [[nodiscard]] std::vector<std::vector<NodeId>> consumers() const;
  // Whole (unsharded) shapes of a computing node's inputs and outputs.
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
  // Throws: ShapeError, naming the node, when the operator does not apply, the sharding is unlawful, or an input's parallel shape is
  // not the one that the sharding asks for; when the name is taken or the block does not exist.
  NodeId add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block);
  NodeId add(std::string name, ParallelOperator op, TensorRef input, int block);
  [[nodiscard]] const ParallelShape& shape(TensorRef t) const;
  [[nodiscard]] const PcgNode& node(NodeId id) const;
  [[nodiscard]] Pcg build() &&;

 private:
  NodeId append(std::string name, PcgNode node, int block);

  Pcg pcg_;
  std::unordered_set<std::string> names_;
};

// One sharding per node of the graph (Weight entries are ignored: weights take what their consumer needs). Inserts the parallel
// operators where layouts differ; consumers that want one layout of a tensor share one chain. Every planner but Unity builds its
// PCG through this. Node names are kept; parallel operators are named after the tensor ("layer0.qkv.replicate").
// Throws: ShapeError, naming the node.
[[nodiscard]] Pcg parallelize(const Graph& graph, std::span<const Sharding> shardings);

// The same graph without parallelism: parallel operators dropped, degrees 1, summands added. parallelize(g, ...) then serial() gives g
// again, but for additions where g had summands.
[[nodiscard]] Graph serial(const Pcg& pcg);

// DOT text, parallel operators coloured.
[[nodiscard]] std::string to_dot(const Pcg& pcg);
[[nodiscard]] std::string to_dot(const Graph& graph);

}  // namespace pcg
