#include "pcg/graph/pcg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg {
namespace {

using PartOfShape = TensorShape (ParallelShape::*)() const;

std::vector<TensorShape> parts_of_inputs(const Pcg& pcg, NodeId id, PartOfShape part) {
  std::vector<TensorShape> result;
  for (TensorRef t : pcg.node(id).inputs) result.push_back((pcg.shape(t).*part)());
  return result;
}

std::vector<TensorShape> parts_of_outputs(const PcgNode& node, PartOfShape part) {
  std::vector<TensorShape> result;
  for (const ParallelShape& s : node.outputs) result.push_back((s.*part)());
  return result;
}

// Replicate makes the copies of a weight, because its backward pass is where their gradients are added up.
std::optional<std::string> source_violation(const Operator& op, const Sharding& s) {
  if (std::holds_alternative<Weight>(op) && (s.copies != 1 || s.sums != 1)) return "copies of a weight are made by a replicate operator";
  if (std::holds_alternative<Input>(op) && s.sums != 1) return "an input has no partial sums";
  return std::nullopt;
}

// The value of summands is their sum. The last addition has the node's name.
GraphTensorRef added(GraphBuilder& builder, const std::string& name, const std::vector<GraphTensorRef>& inputs) {
  if (inputs.size() == 1) return builder.add(name, Unary{.kind = Unary::Kind::identity}, inputs);
  GraphTensorRef sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i)
    sum = builder.add(i + 1 == inputs.size() ? name : fmt::format("{}.{}", name, i), Binary{}, {sum, inputs[i]});
  return sum;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string_view kind_of(const GraphNode& n) { return kind_name(n.op); }
std::string_view kind_of(const PcgNode& n) { return pcg::kind_name(n); }

std::string_view style(const GraphNode& n) { return is_source(n.op) ? ", style=filled, fillcolor=\"#eeeeee\"" : ""; }
std::string_view style(const PcgNode& n) {
  if (n.parallel_operator()) return ", shape=ellipse, style=filled, fillcolor=\"#ffd37f\"";
  return n.is_source() ? ", style=filled, fillcolor=\"#eeeeee\"" : "";
}

template <class AnyGraph>
std::string dot(const AnyGraph& g) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n",
      escaped(g.name()));
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const auto& node = g.nodes()[n];
    out += fmt::format("  n{} [label=\"{}\\n{}\"{}];\n", n, escaped(node.name), kind_of(node), style(node));
  }
  for (std::size_t n = 0; n < g.nodes().size(); ++n)
    for (const auto& t : g.nodes()[n].inputs) out += fmt::format("  n{} -> n{} [label=\"{}\"];\n", t.node.value, n, to_text(g.shape(t)));
  return out + "}\n";
}

// Adds the nodes of a graph one by one, each after the conversions that its inputs need. The same parallel operator on the same
// tensor is made once: so consumers share chains, and chains share what they begin with.
class Parallelizer {
 public:
  Parallelizer(const Graph& graph, std::span<const Sharding> shardings)
      : graph_(graph), shardings_(shardings), builder_(graph.name(), {graph.blocks().begin(), graph.blocks().end()}) {
    for (const GraphNode& n : graph.nodes()) names_.insert(n.name);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) inputs_.push_back(graph.input_shapes(GraphNodeId(n)));
  }

  Pcg run() {
    find_weight_shardings();
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) add(GraphNodeId(n));
    return std::move(builder_).build();
  }

 private:
  // The sharding is checked before shapes are asked for, so that a wrong one is an error of its node.
  void check(std::size_t n) const {
    const GraphNode& node = graph_.nodes()[n];
    if (auto v = violation(*node.space, shardings_[n], inputs_[n], node.outputs)) throw ShapeError(fmt::format("{}: {}", node.name, *v));
  }

  // A weight is cut as its first reader needs it.
  void find_weight_shardings() {
    weights_.resize(graph_.nodes().size());
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const GraphNode& node = graph_.nodes()[n];
      if (std::holds_alternative<Weight>(node.op)) {
        weights_[n] = unsharded(*node.space);
        unread_.insert(n);
        continue;
      }
      check(n);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const std::size_t producer = node.inputs[i].node.value;
        if (unread_.erase(producer) == 0) continue;
        const ParallelShape wanted = input_shape(*node.space, shardings_[n], i, inputs_[n][i]);
        for (std::size_t d = 0; d < wanted.dims.size(); ++d) weights_[producer].degrees[d] = wanted.dims[d].degree;
      }
    }
  }

  void add(GraphNodeId id) {
    const GraphNode& node = graph_.node(id);
    const Sharding& sharding = std::holds_alternative<Weight>(node.op) ? weights_[id.value] : shardings_[id.value];
    std::vector<TensorRef> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphTensorRef t = node.inputs[i];
      const ParallelShape wanted = input_shape(*node.space, sharding, i, inputs_[id.value][i]);
      try {
        inputs.push_back(convert({placed_[t.node.value], t.output}, wanted, tensor_name(t), node.block));
      } catch (const ShapeError& e) { throw ShapeError(fmt::format("{}: input {}: {}", node.name, i, e.what())); }
    }
    placed_.push_back(builder_.add(node.name, node.op, std::move(inputs), sharding, node.block));
  }

  TensorRef convert(TensorRef t, const ParallelShape& wanted, const std::string& name, int block) {
    for (const ParallelOperator& op : conversion(builder_.shape(t), wanted)) {
      auto& made = moved_[t];
      const auto known = std::ranges::find(made, op, &std::pair<ParallelOperator, TensorRef>::first);
      if (known == made.end())
        t = made.emplace_back(op, TensorRef{builder_.add(free_name(fmt::format("{}.{}", name, kind_name(op))), op, t, block)}).second;
      else t = known->second;
    }
    return t;
  }

  std::string tensor_name(GraphTensorRef t) const {
    const std::string& node = graph_.node(t.node).name;
    return t.output == 0 ? node : fmt::format("{}:{}", node, t.output);
  }

  // Readers may want several parallel shapes of one tensor: the second replicate is called "x.replicate2".
  std::string free_name(const std::string& wish) {
    std::string name = wish;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}{}", wish, n);
    return name;
  }

  const Graph& graph_;
  std::span<const Sharding> shardings_;
  PcgBuilder builder_;
  std::vector<std::vector<TensorShape>> inputs_;                                    // whole shapes, by graph node
  std::vector<Sharding> weights_;                                                   // by graph node; of weights only
  std::unordered_set<std::size_t> unread_;                                          // weights that no reader was met of
  std::vector<NodeId> placed_;                                                      // graph node -> PCG node
  std::map<TensorRef, std::vector<std::pair<ParallelOperator, TensorRef>>> moved_;  // the parallel operators on each tensor
  std::unordered_set<std::string> names_;
};

}  // namespace

std::string_view kind_name(const PcgNode& n) {
  return n.parallel_operator() ? kind_name(*n.parallel_operator()) : kind_name(*n.operation());
}

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

std::vector<std::vector<NodeId>> Pcg::consumers() const { return consumers_of<NodeId>(nodes()); }

std::vector<TensorShape> Pcg::whole_inputs(NodeId id) const { return parts_of_inputs(*this, id, &ParallelShape::whole); }
std::vector<TensorShape> Pcg::whole_outputs(NodeId id) const { return parts_of_outputs(node(id), &ParallelShape::whole); }
std::vector<TensorShape> Pcg::shard_inputs(NodeId id) const { return parts_of_inputs(*this, id, &ParallelShape::shard); }
std::vector<TensorShape> Pcg::shard_outputs(NodeId id) const { return parts_of_outputs(node(id), &ParallelShape::shard); }

PcgBuilder::PcgBuilder(std::string name, std::vector<Block> blocks) {
  pcg_.name_ = std::move(name);
  pcg_.blocks_ = std::move(blocks);
}

const ParallelShape& PcgBuilder::shape(TensorRef t) const { return pcg_.shape(t); }
const PcgNode& PcgBuilder::node(NodeId id) const { return pcg_.node(id); }

base::Attempt<NodeId> PcgBuilder::try_add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block) {
  const auto refuse = [&](const std::string& why) { return base::Refusal{fmt::format("{}: {}", name, why)}; };
  std::vector<TensorShape> wholes;
  for (TensorRef t : inputs) {
    BASE_CHECK(t.node.value < pcg_.nodes_.size(), "{} reads a node that is not there yet", name);
    wholes.push_back(shape(t).whole());
  }
  const base::Attempt<std::vector<TensorShape>> inferred = try_infer_shapes(op, wholes);
  if (!inferred) return refuse(inferred.refusal().why);
  const std::vector<TensorShape>& outputs = *inferred;
  auto space = std::make_shared<const IterationSpace>(iteration_space(op, wholes, outputs));
  if (auto v = violation(*space, sharding, wholes, outputs)) return refuse(*v);
  if (auto v = source_violation(op, sharding)) return refuse(*v);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const ParallelShape wanted = input_shape(*space, sharding, i, wholes[i]); wanted != shape(inputs[i]))
      return refuse(fmt::format("input {} ({}) lies as {}, the sharding reads it as {}", i, pcg_.node(inputs[i].node).name,
                                to_text(shape(inputs[i])), to_text(wanted)));
  std::vector<ParallelShape> made;
  for (std::size_t j = 0; j < outputs.size(); ++j) made.push_back(output_shape(*space, sharding, j, outputs[j]));
  return append({.name = std::move(name),
                 .op = std::move(op),
                 .inputs = std::move(inputs),
                 .sharding = std::move(sharding),
                 .outputs = std::move(made),
                 .block = block,
                 .space = std::move(space)});
}

base::Attempt<NodeId> PcgBuilder::try_add(std::string name, ParallelOperator op, TensorRef input, int block) {
  BASE_CHECK(input.node.value < pcg_.nodes_.size(), "{} reads a node that is not there yet", name);
  base::Attempt<ParallelShape> made = pcg::try_apply(op, shape(input));
  if (!made) return base::Refusal{fmt::format("{}: {}", name, made.refusal().why)};
  return append({.name = std::move(name),
                 .op = op,
                 .inputs = {input},
                 .sharding = {},
                 .outputs = {*std::move(made)},
                 .block = block,
                 .space = nullptr});
}

NodeId PcgBuilder::add(std::string name, Operator op, std::vector<TensorRef> inputs, Sharding sharding, int block) {
  return accepted(try_add(std::move(name), std::move(op), std::move(inputs), std::move(sharding), block));
}
NodeId PcgBuilder::add(std::string name, ParallelOperator op, TensorRef input, int block) {
  return accepted(try_add(std::move(name), op, input, block));
}

base::Attempt<NodeId> PcgBuilder::append(PcgNode node) {
  if (node.block < 0 || static_cast<std::size_t>(node.block) >= pcg_.blocks_.size())
    return base::Refusal{
        fmt::format("{}: block {} is not one of 0 .. {}", node.name, node.block, static_cast<int>(pcg_.blocks_.size()) - 1)};
  if (!names_.insert(node.name).second) return base::Refusal{fmt::format("{}: the name is taken", node.name)};
  pcg_.nodes_.push_back(std::move(node));
  return NodeId(pcg_.nodes_.size() - 1);
}

Pcg PcgBuilder::build() && { return std::move(pcg_); }

Graph serial(const Pcg& pcg) {
  GraphBuilder builder(pcg.name());
  std::vector<std::vector<GraphTensorRef>> made;  // of each PCG node: its outputs in the graph
  for (const PcgNode& n : pcg.nodes()) {
    std::vector<GraphTensorRef> inputs;
    for (TensorRef t : n.inputs) inputs.push_back(made[t.node.value][static_cast<std::size_t>(t.output)]);
    if (n.parallel_operator()) {
      made.push_back({inputs[0]});
      continue;
    }
    const std::size_t begun = builder.begin_blocks(pcg.blocks(), static_cast<std::size_t>(n.block) + 1);
    BASE_CHECK(begun == static_cast<std::size_t>(n.block) + 1, "{}: nodes are not in the order of their blocks", n.name);
    if (std::holds_alternative<Summands>(*n.operation())) made.push_back({added(builder, n.name, inputs)});
    else made.push_back(builder.add_raw(n.name, *n.operation(), std::move(inputs)));
  }
  builder.begin_blocks(pcg.blocks(), pcg.blocks().size());
  return std::move(builder).build();
}

std::string to_dot(const Pcg& pcg) { return dot(pcg); }
std::string to_dot(const Graph& graph) { return dot(graph); }

Pcg parallelize(const Graph& graph, std::span<const Sharding> shardings) {
  BASE_CHECK(shardings.size() == graph.nodes().size(), "{} shardings for {} nodes", shardings.size(), graph.nodes().size());
  return Parallelizer(graph, shardings).run();
}

std::vector<Sharding> unsharded(const Graph& graph) {
  std::vector<Sharding> shardings;
  for (const GraphNode& n : graph.nodes()) shardings.push_back(unsharded(*n.space));
  return shardings;
}

}  // namespace pcg
