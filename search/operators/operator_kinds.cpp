#include "search/operators/operator_kinds.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

namespace search {
namespace {

// Whether a weight lies behind each node.
std::vector<bool> trained(const pcg::Graph& graph) {
  std::vector<bool> is(graph.nodes().size(), false);
  for (std::size_t n = 0; n < is.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    is[n] = std::holds_alternative<pcg::Weight>(node.op) ||
            std::ranges::any_of(node.inputs, [&](pcg::GraphTensorRef t) { return is[t.node.value]; });
  }
  return is;
}

bool is_source(const pcg::GraphNode& node) {
  return std::holds_alternative<pcg::Weight>(node.op) || std::holds_alternative<pcg::Input>(node.op);
}

bool alike(const pcg::Graph& graph, std::uint32_t a, std::uint32_t b) {
  const pcg::GraphNode &m = graph.nodes()[a], &n = graph.nodes()[b];
  return m.op == n.op && m.outputs == n.outputs && graph.input_shapes(pcg::GraphNodeId(a)) == graph.input_shapes(pcg::GraphNodeId(b));
}

}  // namespace

OperatorKinds::OperatorKinds(const pcg::Graph& graph) : of_node(graph.nodes().size(), kNone) {
  const std::vector<bool> has_gradient = trained(graph);
  for (std::uint32_t n = 0; n < of_node.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    if (is_source(node)) continue;
    OperatorKind kind{n, {}, {}};
    for (const pcg::GraphTensorRef t : node.inputs) {
      kind.is_weight.push_back(std::holds_alternative<pcg::Weight>(graph.node(t.node).op));
      kind.has_gradient.push_back(has_gradient[t.node.value]);
    }
    const auto known = std::ranges::find_if(kinds, [&](const OperatorKind& k) {
      return k.is_weight == kind.is_weight && k.has_gradient == kind.has_gradient && alike(graph, k.example, n);
    });
    of_node[n] = static_cast<std::uint32_t>(known - kinds.begin());
    if (known == kinds.end()) kinds.push_back(std::move(kind));
  }
}

Specimens::Specimens(const pcg::Graph& model, const OperatorKinds& kinds) {
  pcg::GraphBuilder builder(model.name());
  std::uint32_t next = 0;
  for (const OperatorKind& kind : kinds.kinds) {
    const pcg::GraphNode& example = model.nodes()[kind.example];
    std::vector<pcg::GraphTensorRef> inputs;
    for (std::size_t i = 0; i < example.inputs.size(); ++i) {
      const std::string name = fmt::format("input {} of {}", i, example.name);
      const pcg::TensorShape& shape = model.shape(example.inputs[i]);
      inputs.push_back(kind.has_gradient[i] ? builder.weight(name, shape) : builder.input(name, shape));
    }
    next += static_cast<std::uint32_t>(inputs.size());
    builder.add_raw(example.name, example.op, std::move(inputs));
    node.push_back(next++);
  }
  graph = std::move(builder).build();
}

}  // namespace search
