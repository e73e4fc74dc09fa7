#include "pcg/models/adapters.hpp"

#include <algorithm>
#include <map>

namespace pcg::models {
namespace {

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Embedding and head stay as they are, and so does a layer whose activation is inside of it: the sum belongs before it.
bool can_adapt(const Graph& graph, const GraphNode& node) {
  const auto* linear = std::get_if<Linear>(&node.op);
  return linear != nullptr && linear->activation == Activation::none && graph.blocks()[static_cast<std::size_t>(node.block)].weighty;
}

GraphTensorRef adapted(GraphBuilder& builder, const GraphNode& node, GraphTensorRef read, GraphTensorRef made, std::int64_t rank) {
  const GraphTensorRef narrow = builder.add(node.name + ".lora_a", Linear{.out = rank}, {read});
  const GraphTensorRef wide = builder.add(node.name + ".lora_b", Linear{.out = std::get<Linear>(node.op).out}, {narrow});
  return builder.add(node.name + ".lora", Binary{.kind = Binary::Kind::add}, {made, wide});
}

}  // namespace

std::vector<std::string> adaptable(const Graph& graph) {
  std::vector<std::string> words;
  for (const GraphNode& n : graph.nodes())
    if (const std::string word = last_word(n.name); can_adapt(graph, n) && std::ranges::find(words, word) == words.end())
      words.push_back(word);
  return words;
}

Graph with_adapters(const Graph& graph, const Adapters& adapters) {
  GraphBuilder builder(graph.name());
  std::map<GraphTensorRef, GraphTensorRef> now;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    builder.begin_blocks(graph.blocks(), static_cast<std::size_t>(node.block) + 1);
    Operator op = node.op;
    if (auto* weight = std::get_if<Weight>(&op)) weight->frozen = true;
    std::vector<GraphTensorRef> inputs;
    for (const GraphTensorRef t : node.inputs) inputs.push_back(now.at(t));
    const std::vector<GraphTensorRef> outputs = builder.add_raw(node.name, std::move(op), inputs);
    for (std::size_t o = 0; o < outputs.size(); ++o) now[{GraphNodeId(n), static_cast<int>(o)}] = outputs[o];
    if (can_adapt(graph, node) && std::ranges::find(adapters.on, last_word(node.name)) != adapters.on.end())
      now[{GraphNodeId(n), 0}] = adapted(builder, node, inputs.front(), outputs.front(), adapters.rank);
  }
  return std::move(builder).build();
}

}  // namespace pcg::models
