#pragma once
// The operators of a graph that are alike: layers repeat, so that few kinds have to be priced. And a graph with one operator of each kind,
// in which every kind can be cut in its own way.

#include <cstdint>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace search {

// Equal for operators that cost the same however they are cut.
struct OperatorKind {
  std::uint32_t example = 0;       // a node of the graph
  std::vector<bool> is_weight;     // per input: a trained weight
  std::vector<bool> has_gradient;  // per input: the backward pass makes its gradient
};

struct OperatorKinds {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<OperatorKind> kinds;
  std::vector<std::uint32_t> of_node;  // per node of the graph; kNone: a weight or an input

  // Cost: O(nodes x kinds).
  explicit OperatorKinds(const pcg::Graph& graph);
};

// One operator of each kind, in their order, between sources of its own: where a gradient is wanted, the source is a weight.
struct Specimens {
  pcg::Graph graph;
  std::vector<std::uint32_t> node;  // per kind

  Specimens(const pcg::Graph& model, const OperatorKinds& kinds);
};

}  // namespace search
