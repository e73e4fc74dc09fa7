#include "pcg/resizing/rebuild.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <optional>

#include "pcg/operators/operator.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg {
namespace {

// The new sizes of one operator of a graph: of counts by the map, of dims as the sums of their segments.
class NewSizes {
 public:
  // `asked`, if given, takes down the old size of what is asked for.
  NewSizes(const SizeMap& map, const Together& one, GraphNodeId node, std::set<std::int64_t>* asked = nullptr)
      : map_(map), one_(one), node_(node), asked_(asked) {}

  // Returns the new value of a segment, or of a count that is no dim's size: heads, groups, a window.
  [[nodiscard]] std::int64_t count(std::int64_t old) const {
    if (asked_ != nullptr) asked_->insert(old);
    return new_size(map_, old);
  }
  // Return the new size of a dim of the operator's own output, or of its input.
  [[nodiscard]] std::int64_t output(std::size_t output, std::size_t dim) const { return sum({node_, static_cast<int>(output)}, dim); }
  [[nodiscard]] std::int64_t input(std::size_t input, std::size_t dim) const { return sum(one_.graph.node(node_).inputs[input], dim); }
  // Returns where an offset inside a dim of input 0 comes to lie.
  [[nodiscard]] std::int64_t offset(std::size_t dim, std::int64_t at) const {
    std::int64_t begin = 0, result = 0;
    for (std::int64_t size : one_.segments.of(one_.number, one_.graph.node(node_).inputs[0], dim)) {
      if (begin == at) break;
      result += begin + size <= at ? count(size) : inside(at - begin, size);  // inside: where a dim is not cut further
      begin += size;
      if (begin > at) break;
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t sum(GraphTensorRef t, std::size_t dim) const {
    std::int64_t result = 0;
    for (std::int64_t size : one_.segments.of(one_.number, t, dim)) result += count(size);
    return result;
  }
  // A place inside a segment that has a size of its own is there; others keep their place in proportion.
  [[nodiscard]] std::int64_t inside(std::int64_t at, std::int64_t size) const {
    const auto it = map_.find(at);
    return it != map_.end() ? it->second : at * new_size(map_, size) / size;
  }

  const SizeMap& map_;
  const Together& one_;
  GraphNodeId node_;
  std::set<std::int64_t>* asked_;
};

using Shapes = std::span<const TensorShape>;

void replace_shape(TensorShape& s, const NewSizes& n) {
  for (std::size_t d = 0; d < s.sizes.size(); ++d) s.sizes[d] = n.output(0, d);
}

template <class Other>
void resize_operator(Other&, const NewSizes&, Shapes, Shapes) {}
void resize_operator(Input& o, const NewSizes& n, Shapes, Shapes) { replace_shape(o.shape, n); }
void resize_operator(Weight& o, const NewSizes& n, Shapes, Shapes) { replace_shape(o.shape, n); }
void resize_operator(Linear& o, const NewSizes& n, Shapes before, Shapes) { o.out = n.output(0, before[0].sizes.size() - 1); }
void resize_operator(Conv2d& o, const NewSizes& n, Shapes, Shapes) {
  o.out = n.output(0, 1);
  o.groups = static_cast<int>(n.count(o.groups));
}
void resize_operator(Attention& o, const NewSizes& n, Shapes, Shapes) {
  o.heads = n.count(o.heads);
  o.kv_heads = n.count(o.kv_heads);
  if (o.window > 0) o.window = n.count(o.window);
}
void resize_operator(StateSpace& o, const NewSizes& n, Shapes, Shapes) {
  o.heads = n.count(o.heads);
  o.groups = n.count(o.groups);
  o.state = n.count(o.state);
}
void resize_operator(Embedding& o, const NewSizes& n, Shapes before, Shapes) {
  o.vocabulary = n.input(1, 0);
  o.width = n.output(0, before[0].sizes.size());
}
void resize_operator(EmbeddingBag& o, const NewSizes& n, Shapes, Shapes) {
  o.vocabulary = n.input(1, 0);
  o.width = n.output(0, 1);
}
void resize_operator(Split& o, const NewSizes& n, Shapes before, Shapes) {
  const std::size_t axis = resolve_axis(o.axis, before[0].sizes.size());
  for (std::size_t i = 0; i < o.sizes.size(); ++i) o.sizes[i] = n.output(i, axis);
}
// A slice of all stays one.
void resize_operator(Slice& o, const NewSizes& n, Shapes before, Shapes after) {
  const auto axis = resolve_axis(o.axis, before[0].sizes.size());
  o.begin = n.offset(axis, o.begin);
  o.length = o.length == before[0].sizes[axis] ? after[0].sizes[axis] : n.output(0, axis);
}
void resize_operator(Reshape& o, const NewSizes& n, Shapes, Shapes) {
  for (std::size_t d = 0; d < o.sizes.size(); ++d)
    if (o.sizes[d] > 0) o.sizes[d] = n.output(0, d);
}
void resize_operator(Broadcast& o, const NewSizes& n, Shapes before, Shapes) {
  o.size = n.output(0, resolve_axis(o.axis, before[0].sizes.size()));
}
void resize_operator(ExpertLinear& o, const NewSizes& n, Shapes, Shapes) { o.out = n.output(0, 3); }
// Groups say where tokens travel, not what comes of them: fewer experts may not divide into them.
template <class Routed>
void resize_routing(Routed& o, Shapes before, Shapes after) {
  if (before[1].sizes[2] != after[1].sizes[2]) o.groups = o.groups_per_token = 1;
}
void resize_operator(MoeDispatch& o, const NewSizes&, Shapes before, Shapes after) { resize_routing(o, before, after); }
void resize_operator(MoeCombine& o, const NewSizes&, Shapes before, Shapes after) { resize_routing(o, before, after); }

// Returns the operator with its free sizes replaced; it asks for each of them. `before` and `after`: the shapes of its inputs in the old
// and the new graph.
Operator with_sizes(const Operator& op, const NewSizes& sizes, std::span<const TensorShape> before, std::span<const TensorShape> after) {
  Operator result = op;
  std::visit([&](auto& o) { resize_operator(o, sizes, before, after); }, result);
  return result;
}

// A weight's new shape is known once its first reader is met: from the operator where it has slots for weights.
class Rebuilder {
 public:
  Rebuilder(const Graph& graph, const Rebuild& how)
      : graph_(graph), how_(how), shapes_(graph.nodes().size()), operators_(graph.nodes().size()) {}

  base::Attempt<Graph> run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (std::holds_alternative<Weight>(graph_.nodes()[n].op)) {
        if (how_.weights_are_known) settle_weight(n, how_.weight(GraphNodeId(n)));
        continue;
      }
      if (const auto why = shape(n)) return base::Refusal{fmt::format("{}: {}", graph_.nodes()[n].name, why->why)};
    }
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n)
      if (shapes_[n].empty()) settle_weight(n, how_.weight(GraphNodeId(n)));
    return build();
  }

 private:
  void settle_weight(std::size_t n, TensorShape shape) {
    shapes_[n] = {shape};
    operators_[n] = Weight{.shape = std::move(shape), .frozen = std::get<Weight>(graph_.nodes()[n].op).frozen};
  }
  [[nodiscard]] bool is_open(GraphTensorRef t) const { return shapes_[t.node.value].empty(); }  // a weight not settled yet

  std::optional<base::Refusal> shape(std::size_t n) {
    const GraphNode& node = graph_.nodes()[n];
    const std::vector<bool> slots = weight_slots(node.op, node.inputs.size());
    std::vector<TensorShape> before, after;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphTensorRef t = node.inputs[i];
      if (!slots[i] && is_open(t)) settle_weight(t.node.value, how_.weight(t.node));
      before.push_back(graph_.shape(t));
      after.push_back(is_open(t) ? TensorShape{} : shapes_[t.node.value][static_cast<std::size_t>(t.output)]);
    }
    operators_[n] = how_.change(GraphNodeId(n), before, after);
    if (how_.check && !how_.check(GraphNodeId(n), operators_[n], before, after)) return base::Refusal{"the check stopped it"};
    if (auto why = settle_slots(node, slots, operators_[n], after)) return why;
    base::Attempt<std::vector<TensorShape>> made = try_infer_shapes(operators_[n], after);
    if (!made) return made.refusal();
    shapes_[n] = *std::move(made);
    return std::nullopt;
  }

  std::optional<base::Refusal> settle_slots(const GraphNode& node, const std::vector<bool>& slots, const Operator& op,
                                            std::vector<TensorShape>& after) {
    std::vector<TensorShape> activations;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!slots[i]) activations.push_back(after[i]);
    const base::Attempt<std::vector<TensorShape>> weights = try_weight_shapes(op, activations);
    if (!weights) return weights.refusal();
    const std::vector<TensorShape>& wanted = *weights;
    for (std::size_t i = activations.size(); i < slots.size(); ++i) {  // slots come last
      const GraphTensorRef t = node.inputs[i];
      if (is_open(t)) {
        TensorShape shape = i - activations.size() < wanted.size() ? wanted[i - activations.size()] : how_.weight(t.node);
        const auto* attention = std::get_if<Attention>(&op);
        const bool buckets = attention != nullptr && attention->has_bias && i + 1 == slots.size();
        if (buckets) shape.sizes[0] = graph_.shape(t).sizes[0];  // of positions, which are free
        settle_weight(t.node.value, std::move(shape));
      }
      after[i] = shapes_[t.node.value][static_cast<std::size_t>(t.output)];
    }
    return std::nullopt;
  }

  [[nodiscard]] Graph build() const {
    GraphBuilder builder(graph_.name());
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      builder.begin_blocks(graph_.blocks(), static_cast<std::size_t>(graph_.nodes()[n].block) + 1);
      builder.add_raw(graph_.nodes()[n].name, operators_[n], graph_.nodes()[n].inputs);
    }
    builder.begin_blocks(graph_.blocks(), graph_.blocks().size());
    return std::move(builder).build();
  }

  const Graph& graph_;
  const Rebuild& how_;
  std::vector<std::vector<TensorShape>> shapes_;  // new outputs by node; empty: not known yet
  std::vector<Operator> operators_;               // new, by node
};

}  // namespace

Rebuild by(const SizeMap& map, const Together& one) {
  return {.change = [&map, one](GraphNodeId n, auto before,
                                auto after) { return with_sizes(one.graph.node(n).op, NewSizes(map, one, n), before, after); },
          .weight =
              [&map, one](GraphNodeId n) {
                if (one.weights)
                  if (const auto it = one.weights->find(one.graph.node(n).name); it != one.weights->end()) return it->second;
                return std::get<Weight>(with_sizes(one.graph.node(n).op, NewSizes(map, one, n), {}, {})).shape;
              },
          .weights_are_known = one.weights != nullptr};
}

void add_free_sizes(const Together& one, std::set<std::int64_t>& sizes) {
  std::vector<bool> follows(one.graph.nodes().size(), one.weights != nullptr);  // weights that a slot gives their shape
  for (const GraphNode& n : one.graph.nodes()) {
    const std::vector<bool> slots = weight_slots(n.op, n.inputs.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i]) follows[n.inputs[i].node.value] = true;
  }
  for (std::size_t n = 0; n < one.graph.nodes().size(); ++n) {
    const GraphNode& node = one.graph.nodes()[n];
    if (std::holds_alternative<Weight>(node.op) && follows[n]) continue;
    const std::vector<TensorShape> inputs = one.graph.input_shapes(GraphNodeId(n));
    (void)with_sizes(node.op, NewSizes({}, one, GraphNodeId(n), &sizes), inputs, inputs);
  }
}

base::Attempt<Graph> rebuild(const Graph& graph, const Rebuild& how) { return Rebuilder(graph, how).run(); }

}  // namespace pcg
