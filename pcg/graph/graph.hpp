#pragma once
// The computation graph: operators and the tensors between them, forward only. A value, immutable after building; nodes are in
// topological order (an input's node comes first), so an index order is an execution order.
// Start here: GraphBuilder makes a Graph; parallelize() (pcg.hpp) makes it a Pcg, the graph of shards that plans hold, and serial() leads
// back. stored_weights.hpp is about weights that a rewrite joins or cuts.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "pcg/operators/operator.hpp"
#include "pcg/sharding/iteration_space.hpp"

namespace pcg {

using GraphNodeId = base::Id<struct GraphNodeTag>;

struct GraphTensorRef {  // output number `output` of a node of a computation graph
  GraphNodeId node;
  int output = 0;
  auto operator<=>(const GraphTensorRef&) const = default;
};

// A run of consecutive nodes that a pipeline does not cut: "embedding", "layer 0", ..., "head". A weighty block counts when layers are
// shared out among stages. Transformer layers are weighty; the embedding and the head ride with the first and the last layer. An auxiliary
// block serves training alone (multi-token prediction): its weights are trained, and are not part of what a model is said to have.
struct Block {
  std::string name;
  bool weighty = true;
  bool auxiliary = false;
  bool operator==(const Block&) const = default;
};

struct GraphNode {
  std::string name;  // unique: "layer3.attention.qkv"
  Operator op;
  std::vector<GraphTensorRef> inputs;
  std::vector<TensorShape> outputs;
  int block = 0;  // index into Graph::blocks()
  // The loops of `op` on these inputs: derived when the node is made, shared by copies of the graph, never null in a Graph.
  std::shared_ptr<const IterationSpace> space;
  bool operator==(const GraphNode& o) const;  // what is derived follows from the rest and is not compared
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
  [[nodiscard]] std::vector<TensorShape> input_shapes(GraphNodeId id) const;
  // Returns the tensors that no node reads (the losses), in node order; an unread source is no result.
  [[nodiscard]] std::vector<GraphTensorRef> results() const;
  [[nodiscard]] std::vector<std::vector<GraphNodeId>> consumers() const;  // consumers_of()
  [[nodiscard]] std::int64_t parameters() const;                          // elements of all weights
  [[nodiscard]] std::int64_t frozen_parameters() const;                   // of them, elements of those that are not trained
  [[nodiscard]] std::int64_t auxiliary_parameters() const;                // elements of the weights of auxiliary blocks
  // Model FLOPs (pcg/work/work.hpp) of each node, forward, of the batch that the inputs hold. Experts compute the tokens that they get:
  // places that rounding, capacity and imbalance leave empty are no work of the model.
  [[nodiscard]] std::vector<base::Flops> flops_by_node() const;
  [[nodiscard]] base::Flops forward_flops() const;  // their sum
  [[nodiscard]] base::Flops masked_flops() const;   // the part of them that causal masks throw away
  // FLOPs of forward, backward for activations and backward for weights: three times forward_flops, less products of frozen weights.
  [[nodiscard]] base::Flops iteration_flops() const;
  // The longest sequence that an embedding looks up; 0: samples are no sequences.
  [[nodiscard]] std::int64_t tokens_per_sample() const;
  [[nodiscard]] std::int64_t batch() const;  // size of dim 0 of the first input that has dims; 1: none has
  bool operator==(const Graph&) const = default;

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<GraphNode> nodes_;
  std::vector<Block> blocks_;
};

// Returns one entry per node of a Graph or a Pcg: the nodes that read any of its outputs, ascending.
template <class Id, class Node>
[[nodiscard]] std::vector<std::vector<Id>> consumers_of(std::span<const Node> nodes) {
  std::vector<std::vector<Id>> result(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (const auto t : nodes[n].inputs)  // one that reads a tensor twice is listed once: nodes come in order, so the last entry shows it
      if (auto& readers = result[t.node.value]; readers.empty() || readers.back().value != n) readers.emplace_back(n);
  return result;
}

// Adds nodes one by one and infers their shapes at once.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);
  // The nodes that follow belong to this block. Nodes before the first block fall into a weighty block "model".
  void begin_block(std::string name);             // a weighty one
  void begin_weightless_block(std::string name);  // one that does not count when layers are shared out
  void begin_block(Block block);
  // Begins those of the first `count` of a graph's blocks that this graph has none for yet. Returns how many it has then.
  std::size_t begin_blocks(std::span<const Block> blocks, std::size_t count);

  GraphTensorRef input(const std::string& name, TensorShape shape);
  GraphTensorRef weight(const std::string& name, TensorShape shape);
  // Adds an operator of one output. `weights` are those of its weights that exist already (tied ones), the first ones; the others are
  // created in the shape that weight_shapes() asks for and named after the node ("layer0.mlp.up.weight", ".bias").
  // Throws: ShapeError when the operator refuses its inputs.
  GraphTensorRef add(const std::string& name, Operator op, std::vector<GraphTensorRef> activations,
                     std::vector<GraphTensorRef> weights = {});
  // Weights that add() would create for nodes "NAME.." are from now on those of nodes "OF..", which exist already: layers that run again.
  void share_weights(std::string name, std::string of);
  // Adds an operator of any number of outputs and returns them. `inputs` are all of its inputs, weights included.
  // Throws: ShapeError when the operator refuses its inputs.
  std::vector<GraphTensorRef> add_raw(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs);
  [[nodiscard]] const TensorShape& shape(GraphTensorRef t) const;

  // Throws: base::InternalError when two nodes have one name; ShapeError for more parameters than 2^53.
  [[nodiscard]] Graph build() &&;

 private:
  // The weight of this name, or the one that is shared for it.
  GraphTensorRef own_weight(const std::string& name, const TensorShape& shape);

  Graph graph_;
  std::string sharing_, shared_;  // nodes under the first name have the weights of those under the second
};

// Returns the graph with dim 0 of every input set to `batch` (a micro-batch instead of a mini-batch), and broadcasts of dim 0 that
// repeat as often, shapes inferred anew. Parts into which a dim is split that changes with it keep their shares. Inputs without dims stay.
// Throws: ShapeError when an operator refuses its new inputs (a reshape to sizes written out).
[[nodiscard]] Graph with_batch(const Graph& g, std::int64_t batch);

}  // namespace pcg
