#include "pcg/graph/pcg.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg {
namespace {

// The nodes of either kind of graph look alike here.
template <class Nodes>
std::vector<std::vector<NodeId>> consumers_of(const Nodes& nodes) {
  std::vector<std::vector<NodeId>> result(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (TensorRef t : nodes[n].inputs)
      if (auto& readers = result[t.node.value]; readers.empty() || readers.back().value != n) readers.emplace_back(n);
  return result;
}

std::optional<std::string> source_violation(const Operator& op, const Sharding& s) {
  if (std::holds_alternative<Weight>(op) && (s.copies != 1 || s.sums != 1)) return "copies of a weight are made by a replicate operator";
  if (std::holds_alternative<Input>(op) && s.sums != 1) return "an input has no partial sums";
  return std::nullopt;
}

}  // namespace

bool PcgNode::operator==(const PcgNode& o) const {
  return name == o.name && op == o.op && inputs == o.inputs && sharding == o.sharding && outputs == o.outputs && block == o.block;
}

std::vector<TensorRef> Pcg::results() const {
  std::vector<std::vector<bool>> read;
  for (const PcgNode& n : nodes_) {
    for (TensorRef t : n.inputs) read[t.node.value][static_cast<std::size_t>(t.output)] = true;
    read.emplace_back(n.outputs.size(), false);
  }
  std::vector<TensorRef> result;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    for (std::size_t o = 0; o < read[n].size() && !nodes_[n].is_source(); ++o)
      if (!read[n][o]) result.push_back({NodeId(n), static_cast<int>(o)});
  return result;
}

std::vector<std::vector<NodeId>> Pcg::consumers() const { return consumers_of(nodes_); }

std::vector<TensorShape> Pcg::whole_inputs(NodeId id) const {
  std::vector<TensorShape> result;
  for (TensorRef t : node(id).inputs) result.push_back(shape(t).whole());
  return result;
}
std::vector<TensorShape> Pcg::whole_outputs(NodeId id) const {
  std::vector<TensorShape> result;
  for (const ParallelShape& s : node(id).outputs) result.push_back(s.whole());
  return result;
}
std::vector<TensorShape> Pcg::shard_inputs(NodeId id) const {
  std::vector<TensorShape> result;
  for (TensorRef t : node(id).inputs) result.push_back(shape(t).shard());
  return result;
}
std::vector<TensorShape> Pcg::shard_outputs(NodeId id) const {
  std::vector<TensorShape> result;
  for (const ParallelShape& s : node(id).outputs) result.push_back(s.shard());
  return result;
}

PcgBuilder::PcgBuilder(std::string name, std::vector<Block> blocks) {
  pcg_.name_ = std::move(name);
  pcg_.blocks_ = std::move(blocks);
}

const ParallelShape& PcgBuilder::shape(TensorRef t) const { return pcg_.shape(t); }
const PcgNode& PcgBuilder::node(NodeId id) const { return pcg_.node(id); }

NodeId PcgBuilder::add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block) {
  auto refuse = [&](const std::string& why) -> ShapeError { return ShapeError(fmt::format("{}: {}", name, why)); };
  std::vector<TensorShape> wholes;
  for (TensorRef t : inputs) {
    BASE_CHECK(t.node.value < pcg_.nodes_.size(), "{} reads a node that is not there yet", name);
    wholes.push_back(shape(t).whole());
  }
  PcgNode node;
  try {
    const std::vector<TensorShape> outputs = infer_shapes(op, wholes);
    node.space = std::make_shared<const IterationSpace>(iteration_space(op, wholes, outputs));
    const IterationSpace& space = *node.space;
    if (auto v = violation(space, sharding, wholes, outputs)) throw ShapeError(*v);
    if (auto v = source_violation(op, sharding)) throw ShapeError(*v);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (const ParallelShape wanted = input_shape(space, sharding, i, wholes[i]); wanted != shape(inputs[i]))
        throw ShapeError(fmt::format("input {} ({}) lies as {}, the sharding reads it as {}", i, pcg_.node(inputs[i].node).name,
                                     to_text(shape(inputs[i])), to_text(wanted)));
    for (std::size_t j = 0; j < outputs.size(); ++j) node.outputs.push_back(output_shape(space, sharding, j, outputs[j]));
  } catch (const ShapeError& e) { throw refuse(e.what()); }
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.sharding = std::move(sharding);
  return append(std::move(name), std::move(node), block);
}

NodeId PcgBuilder::add(std::string name, ParallelOperator op, TensorRef input, int block) {
  BASE_CHECK(input.node.value < pcg_.nodes_.size(), "{} reads a node that is not there yet", name);
  PcgNode node;
  try {
    node.outputs = {pcg::apply(op, shape(input))};
  } catch (const ShapeError& e) { throw ShapeError(fmt::format("{}: {}", name, e.what())); }
  node.op = op;
  node.inputs = {input};
  return append(std::move(name), std::move(node), block);
}

NodeId PcgBuilder::append(std::string name, PcgNode node, int block) {
  if (!names_.insert(name).second) throw ShapeError(fmt::format("{}: the name is taken", name));
  if (block < 0 || static_cast<std::size_t>(block) >= pcg_.blocks_.size())
    throw ShapeError(fmt::format("{}: block {} is not one of 0 .. {}", name, block, static_cast<int>(pcg_.blocks_.size()) - 1));
  node.name = std::move(name);
  node.block = block;
  pcg_.nodes_.push_back(std::move(node));
  return NodeId(pcg_.nodes_.size() - 1);
}

Pcg PcgBuilder::build() && { return std::move(pcg_); }

}  // namespace pcg
