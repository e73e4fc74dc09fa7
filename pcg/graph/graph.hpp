#pragma once
// The computation graph: operators and the tensors between them, forward only. A value, immutable after building; nodes are in
// topological order (an input's node comes first), so an index order is an execution order.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

using GraphNodeId = base::Id<struct GraphNodeTag>;

struct GraphTensorRef {  // output number `output` of a node of a computation graph
  GraphNodeId node;
  int output = 0;
  auto operator<=>(const GraphTensorRef&) const = default;
};

// A run of nodes that a pipeline does not cut, in order: "embedding", "layer 0", ..., "head". weighty: it counts when layers are
// shared out among stages (transformer layers do; embedding and head ride with the first and last).
struct Block {
  std::string name;
  bool weighty = true;
  bool operator==(const Block&) const = default;
};

struct GraphNode {
  std::string name;  // unique: "layer3.attention.qkv"
  Operator op;
  std::vector<GraphTensorRef> inputs;
  std::vector<TensorShape> outputs;
  int block = 0;  // index into Graph::blocks()
  bool operator==(const GraphNode&) const = default;
};

class Graph {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const GraphNode> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Block> blocks() const { return blocks_; }
  [[nodiscard]] const GraphNode& node(GraphNodeId id) const { return nodes_[id.value]; }
  [[nodiscard]] const TensorShape& shape(GraphTensorRef t) const {
    return nodes_[t.node.value].outputs[static_cast<std::size_t>(t.output)];
  }
  // Tensors that nothing consumes: the losses. In node order; sources do not count.
  [[nodiscard]] std::vector<GraphTensorRef> results() const;
  // Nodes that read any output of each node, ascending; one entry per node.
  [[nodiscard]] std::vector<std::vector<GraphNodeId>> consumers() const;
  [[nodiscard]] std::int64_t parameters() const;    // elements of all weights
  [[nodiscard]] base::Flops forward_flops() const;  // model FLOPs (pcg/work.hpp) of the batch that the inputs hold
  [[nodiscard]] std::int64_t batch() const;         // size of dim 0 of the first input
  bool operator==(const Graph&) const = default;

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<GraphNode> nodes_;
  std::vector<Block> blocks_;
};

// Adds nodes one by one; shapes are inferred at once. Weights are created by the operator helpers in the shape that
// weight_shapes() asks for, named after the node ("layer0.mlp.up.weight", ".bias").
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);
  void begin_block(std::string name, bool weighty = true);  // nodes before the first one fall into a block "model"

  GraphTensorRef input(const std::string& name, TensorShape shape);
  GraphTensorRef weight(const std::string& name, TensorShape shape);
  // An operator of one output over activations; the weights it needs are created, but for the first ones that `weights` hands over
  // (tied ones).
  GraphTensorRef add(const std::string& name, Operator op, std::vector<GraphTensorRef> activations,
                     std::vector<GraphTensorRef> weights = {});
  // The same for any number of outputs. `inputs` are all inputs, weights included.
  std::vector<GraphTensorRef> add_raw(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs);
  [[nodiscard]] const TensorShape& shape(GraphTensorRef t) const;

  // Throws: base::InternalError on a duplicate name; ShapeError comes from add().
  [[nodiscard]] Graph build() &&;

 private:
  Graph graph_;
};

// The graph with dim 0 of every input set to `batch` (a micro-batch instead of a mini-batch), shapes inferred anew.
[[nodiscard]] Graph with_batch(const Graph& g, std::int64_t batch);

}  // namespace pcg
