#include "pcg/graph/joined_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace pcg {
namespace {

const Weight* weight_at(const Graph& graph, GraphTensorRef t) { return std::get_if<Weight>(&graph.node(t.node).op); }

// What a concat of weights is as one weight, if nothing else reads them. Parts that are joined along the same dim are named apart.
std::optional<Weight> joined(const std::vector<GraphNode>& nodes, const GraphNode& concat, const std::vector<std::size_t>& readers) {
  const auto* op = std::get_if<Concat>(&concat.op);
  if (op == nullptr) return std::nullopt;
  const int rank = static_cast<int>(concat.outputs[0].sizes.size());
  Weight whole{concat.outputs[0], {}, {}, op->axis < 0 ? op->axis + rank : op->axis};
  for (const GraphTensorRef t : concat.inputs) {
    const GraphNode& part = nodes[t.node.value];
    const auto* weight = std::get_if<Weight>(&part.op);
    if (weight == nullptr || readers[t.node.value] != 1) return std::nullopt;
    if (weight->joined.empty()) {
      whole.joined.push_back(part.name);
      whole.sizes.push_back(weight->shape.sizes[static_cast<std::size_t>(whole.along)]);
    } else if (weight->along == whole.along) {
      whole.joined.insert(whole.joined.end(), weight->joined.begin(), weight->joined.end());
      whole.sizes.insert(whole.sizes.end(), weight->sizes.begin(), weight->sizes.end());
    } else {
      return std::nullopt;
    }
  }
  return whole;
}

std::vector<std::size_t> reader_counts(const Graph& graph) {
  std::vector<std::size_t> readers(graph.nodes().size(), 0);
  for (const GraphNode& n : graph.nodes())
    for (const GraphTensorRef t : n.inputs) ++readers[t.node.value];
  return readers;
}

}  // namespace

Graph with_joined_weights(const Graph& graph) {
  const std::vector<std::size_t> readers = reader_counts(graph);
  std::vector<GraphNode> nodes(graph.nodes().begin(), graph.nodes().end());
  std::vector<bool> is_gone(nodes.size(), false);
  for (GraphNode& node : nodes) {
    std::optional<Weight> whole = joined(nodes, node, readers);
    if (!whole) continue;
    for (const GraphTensorRef t : node.inputs) is_gone[t.node.value] = true;
    node.inputs.clear();
    node.op = std::move(*whole);
  }
  GraphBuilder builder(graph.name());
  std::vector<std::vector<GraphTensorRef>> now(nodes.size());
  int block = -1;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (; block < nodes[n].block; ++block) builder.begin_block(graph.blocks()[static_cast<std::size_t>(block + 1)]);
    if (is_gone[n]) continue;
    std::vector<GraphTensorRef> inputs;
    for (const GraphTensorRef t : nodes[n].inputs) inputs.push_back(now[t.node.value][static_cast<std::size_t>(t.output)]);
    now[n] = builder.add_raw(nodes[n].name, nodes[n].op, std::move(inputs));
  }
  return std::move(builder).build();
}

std::size_t operators_on_weights(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [&](const GraphNode& n) {
    return !n.inputs.empty() && std::ranges::all_of(n.inputs, [&](GraphTensorRef t) { return weight_at(graph, t) != nullptr; });
  }));
}

Pcg with_model_weights(const Pcg& pcg) {
  PcgBuilder builder(pcg.name(), {pcg.blocks().begin(), pcg.blocks().end()});
  std::vector<NodeId> now;
  for (const PcgNode& n : pcg.nodes()) {
    const auto* weight = n.operation() ? std::get_if<Weight>(n.operation()) : nullptr;
    if (weight != nullptr && !weight->joined.empty()) {
      std::vector<TensorRef> parts;
      std::vector<TensorShape> part_shapes;
      for (std::size_t p = 0; p < weight->joined.size(); ++p) {
        TensorShape shape = weight->shape;
        shape.sizes[static_cast<std::size_t>(weight->along)] = weight->sizes[p];
        part_shapes.push_back(shape);
        const Operator part = Weight{std::move(shape)};
        parts.push_back({builder.add(weight->joined[p], part, {}, unsharded(iteration_space(part, {})), n.block)});
      }
      const Operator concat = Concat{weight->along};
      TensorRef at{builder.add(n.name, concat, parts, unsharded(iteration_space(concat, part_shapes)), n.block)};
      for (std::size_t d = 0; d < n.outputs[0].dims.size(); ++d)
        if (const int degree = n.outputs[0].dims[d].degree; degree > 1)
          at = {builder.add(fmt::format("{}.partition{}", n.name, d), Partition{static_cast<int>(d), degree}, at, n.block)};
      now.push_back(at.node);
      continue;
    }
    std::vector<TensorRef> inputs;
    for (const TensorRef t : n.inputs) inputs.push_back({now[t.node.value], t.output});
    if (const auto* op = n.parallel_operator()) now.push_back(builder.add(n.name, *op, inputs[0], n.block));
    else now.push_back(builder.add(n.name, *n.operation(), std::move(inputs), n.sharding, n.block));
  }
  return std::move(builder).build();
}

}  // namespace pcg
