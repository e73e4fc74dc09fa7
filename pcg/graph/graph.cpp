#include "pcg/graph/graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/check.hpp"
#include "base/numbers.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/work/work.hpp"

namespace pcg {
namespace {

template <class T>
bool is(const Operator& op) {
  return std::holds_alternative<T>(op);
}

std::vector<TensorShape> shapes_of(const Graph& g, std::span<const GraphTensorRef> refs) {
  std::vector<TensorShape> shapes;
  for (const GraphTensorRef t : refs) shapes.push_back(g.shape(t));
  return shapes;
}

template <class Counts>
std::int64_t elements_of_weights(std::span<const GraphNode> nodes, Counts&& counts) {
  std::int64_t total = 0;
  for (const GraphNode& n : nodes)
    if (is<Weight>(n.op) && counts(n)) total += n.outputs[0].elements();
  return total;
}

// Of the places that a dispatch gives the experts, the part that holds a token; what rounding, capacity and imbalance add stays empty.
double share_filled(const MoeDispatch& op, const TensorShape& gates, const TensorShape& places) {
  const auto tokens = static_cast<double>(op.top_k * gates.sizes[1]);
  return std::min(1.0, tokens / static_cast<double>(places.sizes[0] * places.sizes[2]));
}

// Parts of a dim that has changed keep their shares of it: rewrites put the samples of several tensors one after another.
void keep_shares(Split& split, std::int64_t before, std::int64_t now) {
  // By whole units, so that products stay below the dim's size.
  const std::int64_t common = std::gcd(before, now), unit = before / common;
  if (before == now || std::ranges::any_of(split.sizes, [&](std::int64_t size) { return size % unit != 0; })) return;
  for (std::int64_t& size : split.sizes) size = size / unit * (now / common);
}

}  // namespace

bool GraphNode::operator==(const GraphNode& o) const {
  return name == o.name && op == o.op && inputs == o.inputs && outputs == o.outputs && block == o.block;
}

std::vector<TensorShape> Graph::input_shapes(GraphNodeId id) const { return shapes_of(*this, node(id).inputs); }

std::vector<GraphTensorRef> Graph::results() const {
  std::set<GraphTensorRef> read;
  for (const GraphNode& n : nodes_) read.insert(n.inputs.begin(), n.inputs.end());
  std::vector<GraphTensorRef> result;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_source(nodes_[i].op)) continue;
    for (std::size_t j = 0; j < nodes_[i].outputs.size(); ++j) {
      const GraphTensorRef t{GraphNodeId(i), static_cast<int>(j)};
      if (!read.contains(t)) result.push_back(t);
    }
  }
  return result;
}

std::vector<std::vector<GraphNodeId>> Graph::consumers() const { return consumers_of<GraphNodeId>(nodes()); }

std::int64_t Graph::parameters() const {
  return elements_of_weights(nodes_, [](const GraphNode&) { return true; });
}
std::int64_t Graph::frozen_parameters() const {
  return elements_of_weights(nodes_, [](const GraphNode& n) { return std::get<Weight>(n.op).frozen; });
}
std::int64_t Graph::auxiliary_parameters() const {
  return elements_of_weights(nodes_, [&](const GraphNode& n) { return blocks_[static_cast<std::size_t>(n.block)].auxiliary; });
}

std::vector<base::Flops> Graph::flops_by_node() const {
  std::vector<base::Flops> flops;
  std::vector<double> filled(nodes_.size(), 1);  // of the rows of what each node makes; 1 outside experts
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& n = nodes_[i];
    double share = 1;
    for (const GraphTensorRef t : n.inputs) share = std::min(share, filled[t.node.value]);
    flops.push_back(share * model_flops(n.op, shapes_of(*this, n.inputs), n.outputs));
    if (const auto* dispatch = std::get_if<MoeDispatch>(&n.op)) share = share_filled(*dispatch, shape(n.inputs[1]), n.outputs[0]);
    filled[i] = is<MoeCombine>(n.op) ? 1 : share;
  }
  return flops;
}

base::Flops Graph::forward_flops() const {
  base::Flops total;
  for (const base::Flops of_node : flops_by_node()) total += of_node;
  return total;
}

base::Flops Graph::masked_flops() const {
  base::Flops total;
  for (const GraphNode& n : nodes_) total += pcg::masked_flops(n.op, shapes_of(*this, n.inputs), n.outputs);
  return total;
}

base::Flops Graph::iteration_flops() const {
  const auto is_frozen = [&](GraphTensorRef t) {
    const auto* weight = std::get_if<Weight>(&node(t.node).op);
    return weight != nullptr && weight->frozen;
  };
  const std::vector<base::Flops> forward = flops_by_node();
  base::Flops total;
  for (std::size_t i = 0; i < nodes_.size(); ++i) total += (std::ranges::any_of(nodes_[i].inputs, is_frozen) ? 2 : 3) * forward[i];
  return total;
}

std::int64_t Graph::tokens_per_sample() const {
  std::int64_t longest = 0;
  for (const GraphNode& n : nodes_) {
    if (!is<Embedding>(n.op)) continue;
    const std::vector<std::int64_t>& indices = shape(n.inputs[0]).sizes;
    if (indices.size() == 2) longest = std::max(longest, indices[1]);
  }
  return longest;
}

std::int64_t Graph::batch() const {
  for (const GraphNode& n : nodes_)
    if (is<Input>(n.op) && !n.outputs[0].sizes.empty()) return n.outputs[0].sizes[0];
  return 1;
}

GraphBuilder::GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

void GraphBuilder::begin_block(std::string name) { begin_block(Block{.name = std::move(name)}); }
void GraphBuilder::begin_weightless_block(std::string name) { begin_block(Block{.name = std::move(name), .weighty = false}); }
void GraphBuilder::begin_block(Block block) { graph_.blocks_.push_back(std::move(block)); }
std::size_t GraphBuilder::begin_blocks(std::span<const Block> blocks, std::size_t count) {
  while (graph_.blocks_.size() < count) begin_block(blocks[graph_.blocks_.size()]);
  return graph_.blocks_.size();
}

GraphTensorRef GraphBuilder::input(const std::string& name, TensorShape shape) {
  return add_raw(name, Input{std::move(shape)}, {}).front();
}

GraphTensorRef GraphBuilder::weight(const std::string& name, TensorShape shape) {
  return add_raw(name, Weight{std::move(shape)}, {}).front();
}

GraphTensorRef GraphBuilder::add(const std::string& name, Operator op, std::vector<GraphTensorRef> activations,
                                 std::vector<GraphTensorRef> weights) {
  const std::vector<TensorShape> wanted = weight_shapes(op, shapes_of(graph_, activations));
  // The first slot is the matrix, table or gain, the second the bias; an attention has more.
  constexpr std::string_view kSlotNames[] = {"weight", "bias", "weight2", "weight3", "weight4", "weight5"};
  std::vector<GraphTensorRef> inputs = std::move(activations);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    inputs.push_back(i < weights.size() ? weights[i] : own_weight(fmt::format("{}.{}", name, kSlotNames[i]), wanted[i]));
  return add_raw(name, std::move(op), std::move(inputs)).front();
}

void GraphBuilder::share_weights(std::string name, std::string of) {
  sharing_ = std::move(name) + ".";
  shared_ = std::move(of) + ".";
}

GraphTensorRef GraphBuilder::own_weight(const std::string& name, const TensorShape& shape) {
  if (sharing_.empty() || !name.starts_with(sharing_)) return weight(name, shape);
  const std::string of = shared_ + name.substr(sharing_.size());
  const auto at = std::ranges::find(graph_.nodes_, of, &GraphNode::name);
  BASE_CHECK(at != graph_.nodes_.end() && is<Weight>(at->op), "{} shares {}, which is no weight", name, of);
  return {GraphNodeId(static_cast<std::size_t>(at - graph_.nodes_.begin())), 0};
}

std::vector<GraphTensorRef> GraphBuilder::add_raw(const std::string& name, Operator op, std::vector<GraphTensorRef> inputs) {
  if (graph_.blocks_.empty()) begin_block("model");
  for (const GraphTensorRef t : inputs)
    BASE_CHECK(
        t.node.value < graph_.nodes_.size() && t.output >= 0 && static_cast<std::size_t>(t.output) < graph_.node(t.node).outputs.size(),
        "input of {} is output {} of node {}", name, t.output, t.node.value);
  const std::vector<TensorShape> shapes = shapes_of(graph_, inputs);
  std::vector<TensorShape> outputs = infer_shapes(op, shapes);
  // Copies of the graph share the iteration space, which is derived here once.
  auto space = std::make_shared<const IterationSpace>(iteration_space(op, shapes, outputs));
  const GraphNodeId id(graph_.nodes_.size());
  std::vector<GraphTensorRef> result;
  for (std::size_t j = 0; j < outputs.size(); ++j) result.push_back({id, static_cast<int>(j)});
  graph_.nodes_.push_back(
      {name, std::move(op), std::move(inputs), std::move(outputs), static_cast<int>(graph_.blocks_.size()) - 1, std::move(space)});
  return result;
}

const TensorShape& GraphBuilder::shape(GraphTensorRef t) const { return graph_.shape(t); }

Graph GraphBuilder::build() && {
  std::set<std::string_view> names;
  for (const GraphNode& n : graph_.nodes_) BASE_CHECK(names.insert(n.name).second, "two nodes are called {}", n.name);
  double parameters = 0;
  for (const GraphNode& n : graph_.nodes_)
    if (is<Weight>(n.op)) parameters += static_cast<double>(n.outputs[0].elements());
  if (parameters > base::kLargestExactInteger)
    throw ShapeError(fmt::format("{:.2g} parameters are more than a model can have", parameters));
  return std::move(graph_);
}

Graph with_batch(const Graph& g, std::int64_t batch) {
  GraphBuilder builder(g.name());
  for (const GraphNode& n : g.nodes()) {
    builder.begin_blocks(g.blocks(), static_cast<std::size_t>(n.block) + 1);
    Operator op = n.op;
    if (Input* in = std::get_if<Input>(&op); in && !in->shape.sizes.empty()) in->shape.sizes[0] = batch;
    // A tensor that is repeated for each sample (a class token) is repeated as often as there are samples.
    if (Broadcast* b = std::get_if<Broadcast>(&op); b && b->axis == 0 && b->size == g.batch()) b->size = batch;
    if (Split* split = std::get_if<Split>(&op)) {
      const std::vector<std::int64_t>&before = g.shape(n.inputs[0]).sizes, &now = builder.shape(n.inputs[0]).sizes;
      const std::size_t axis = resolve_axis(split->axis, before.size());
      keep_shares(*split, before[axis], now[axis]);
    }
    builder.add_raw(n.name, std::move(op), n.inputs);
  }
  builder.begin_blocks(g.blocks(), g.blocks().size());
  return std::move(builder).build();
}

}  // namespace pcg
