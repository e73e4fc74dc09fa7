#pragma once
// A graph while it is made of an ONNX model: nodes may still be joined, replaced or left out. Private to pcg/models.

#include <set>
#include <string>
#include <vector>

#include "base/attempt.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models::onnx {

struct DraftNode {
  std::string name;
  Operator op;
  std::vector<GraphTensorRef> inputs;  // numbered as the draft's nodes
  std::vector<TensorShape> outputs;
  std::string scope;    // where the exporter says the node is: "encoder.layer.3"; empty: it does not
  bool causal = false;  // a softmax over scores that a causal mask shuts
};

class Draft {
 public:
  // Adds a node after all others; a name that is there already gets a number.
  [[nodiscard]] base::Attempt<std::vector<GraphTensorRef>> add(std::string name, Operator op, std::vector<GraphTensorRef> inputs,
                                                               const std::string& scope);
  [[nodiscard]] const TensorShape& shape(GraphTensorRef t) const;
  [[nodiscard]] std::vector<DraftNode>& nodes() { return nodes_; }
  [[nodiscard]] const std::vector<DraftNode>& nodes() const { return nodes_; }
  [[nodiscard]] DraftNode& node(GraphTensorRef t) { return nodes_[t.node.value]; }

 private:
  std::vector<DraftNode> nodes_;
  std::set<std::string> names_;
};

// A bias that is added to what a linear layer puts out, and a relu, sigmoid or tanh after a linear layer or a convolution, become part of
// it, where nothing else reads the nodes between. `outputs` are read by losses that are not there yet.
void join_linears(Draft& draft, const std::vector<GraphTensorRef>& outputs);

// Softmax of products of heads, from the three tensors whose last dim holds the heads to the one that holds what they give, becomes the
// operator of attention. Returns: how many were found.
std::size_t join_attention(Draft& draft);

// The graph of the nodes that a loss needs. Its blocks are runs of nodes of one scope up to the first part of it that counts:
// "encoder.layer.3".
[[nodiscard]] Graph graph_of(const Draft& draft, const std::string& name, const std::vector<GraphTensorRef>& losses);

}  // namespace pcg::models::onnx
