#include "pcg/models/onnx/draft.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "pcg/operators/operator_shapes.hpp"

namespace pcg::models::onnx {
namespace {

// "3" and "encoder_layer_3" count what repeats; "conv1" and "layer4" are names.
bool is_counted(const std::string& component) {
  const std::size_t digits = component.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  return digits < component.size() && (digits == 0 || component[digits - 1] == '_');
}

// The scope up to its first component that counts: "encoder.layer.3" of "encoder.layer.3.attention"; empty: none does.
std::string block_of(const std::string& scope) {
  for (std::size_t from = 0; from < scope.size();) {
    const std::size_t to = std::min(scope.find('.', from), scope.size());
    if (is_counted(scope.substr(from, to - from))) return scope.substr(0, to);
    from = to + 1;
  }
  return "";
}

std::vector<bool> needed(const Draft& draft, const std::vector<GraphTensorRef>& losses) {
  std::vector<bool> result(draft.nodes().size(), false);
  for (const GraphTensorRef t : losses) result[t.node.value] = true;
  for (std::size_t n = result.size(); n-- > 0;)
    if (result[n])
      for (const GraphTensorRef t : draft.nodes()[n].inputs) result[t.node.value] = true;
  return result;
}

// The block of each node: a node without one stays in that of the node before it, but after the last one that has one.
std::vector<std::string> blocks_of(const Draft& draft, const std::vector<std::size_t>& order) {
  std::vector<std::string> blocks(order.size());
  std::size_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    blocks[i] = block_of(draft.nodes()[order[i]].scope);
    if (!blocks[i].empty()) last = i;
  }
  std::string before;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (blocks[i].empty() && i < last) blocks[i] = before;
    before = blocks[i];
  }
  // A run without weights (an activation between two layers) goes with the one before it.
  const auto reads_weight = [&](std::size_t i) {
    return std::ranges::any_of(draft.nodes()[order[i]].inputs,
                               [&](GraphTensorRef t) { return std::holds_alternative<Weight>(draft.nodes()[t.node.value].op); });
  };
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    bool has_weights = false;
    for (to = from; to < order.size() && blocks[to] == blocks[from]; ++to) has_weights = has_weights || reads_weight(to);
    if (!has_weights && from > 0)
      std::fill(blocks.begin() + static_cast<std::ptrdiff_t>(from), blocks.begin() + static_cast<std::ptrdiff_t>(to), blocks[from - 1]);
  }
  return blocks;
}

}  // namespace

base::Attempt<std::vector<GraphTensorRef>> Draft::add(std::string name, Operator op, std::vector<GraphTensorRef> inputs,
                                                      const std::string& scope) {
  std::vector<TensorShape> shapes;
  for (const GraphTensorRef t : inputs) shapes.push_back(shape(t));
  auto outputs = try_infer_shapes(op, shapes);
  if (!outputs) return outputs.refusal();
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}#{}", name, i);
  std::vector<GraphTensorRef> result;
  for (std::size_t o = 0; o < outputs->size(); ++o) result.push_back({GraphNodeId(nodes_.size()), static_cast<int>(o)});
  nodes_.push_back({std::move(unique), std::move(op), std::move(inputs), *outputs, scope});
  return result;
}

const TensorShape& Draft::shape(GraphTensorRef t) const { return nodes_[t.node.value].outputs[static_cast<std::size_t>(t.output)]; }

Graph graph_of(const Draft& draft, const std::string& name, const std::vector<GraphTensorRef>& losses) {
  const std::vector<bool> kept = needed(draft, losses);
  // Sources come right before the first node that reads them, so that they fall into its block.
  std::vector<std::size_t> order;
  std::vector<bool> placed(draft.nodes().size(), false);
  for (std::size_t n = 0; n < draft.nodes().size(); ++n) {
    if (!kept[n] || is_source(draft.nodes()[n].op)) continue;
    for (const GraphTensorRef t : draft.nodes()[n].inputs)
      if (is_source(draft.nodes()[t.node.value].op) && !placed[t.node.value]) {
        placed[t.node.value] = true;
        order.push_back(t.node.value);
      }
    order.push_back(n);
  }
  std::vector<std::string> blocks(order.size());
  {
    // A source is in the block of its reader, which is the next node that is none.
    std::vector<std::size_t> operators;
    for (const std::size_t n : order)
      if (!is_source(draft.nodes()[n].op)) operators.push_back(n);
    const std::vector<std::string> of_operators = blocks_of(draft, operators);
    std::size_t next = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      blocks[i] = of_operators[std::min(next, of_operators.size() - 1)];
      if (!is_source(draft.nodes()[order[i]].op)) ++next;
    }
  }
  const bool has_blocks = std::ranges::any_of(blocks, [](const std::string& b) { return !b.empty(); });
  GraphBuilder b(name);
  std::vector<std::vector<GraphTensorRef>> made(draft.nodes().size());
  std::map<std::string, int> begun;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (has_blocks && (i == 0 || blocks[i] != blocks[i - 1])) {
      const std::string called = !blocks[i].empty() ? blocks[i] : i == 0 ? "input" : "output";
      const int times = ++begun[called];
      b.begin_block(Block{.name = times == 1 ? called : fmt::format("{}#{}", called, times), .weighty = !blocks[i].empty()});
    }
    const DraftNode& n = draft.nodes()[order[i]];
    std::vector<GraphTensorRef> inputs;
    for (const GraphTensorRef t : n.inputs) inputs.push_back(made[t.node.value][static_cast<std::size_t>(t.output)]);
    made[order[i]] = b.add_raw(n.name, n.op, std::move(inputs));
  }
  return std::move(b).build();
}

}  // namespace pcg::models::onnx
