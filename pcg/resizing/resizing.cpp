#include "pcg/resizing/resizing.hpp"

#include <fmt/core.h>

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;

std::int64_t look_up(const SizeMap& map, std::int64_t size) {
  const auto it = map.find(size);
  return it == map.end() ? size : it->second;
}

void map_shape(TensorShape& s, const SizeMap& map) {
  for (std::int64_t& size : s.sizes) size = look_up(map, size);
}

// --- one overload per operator that carries sizes ---
template <class Other>
void resize_operator(Other&, const SizeMap&, Shapes, Shapes) {}
void resize_operator(Input& o, const SizeMap& m, Shapes, Shapes) { map_shape(o.shape, m); }
void resize_operator(Linear& o, const SizeMap& m, Shapes, Shapes) { o.out = look_up(m, o.out); }
void resize_operator(Conv2d& o, const SizeMap& m, Shapes, Shapes) {
  o.out = look_up(m, o.out);
  o.groups = static_cast<int>(look_up(m, o.groups));
}
void resize_operator(Attention& o, const SizeMap& m, Shapes, Shapes) {
  o.heads = look_up(m, o.heads);
  o.kv_heads = look_up(m, o.kv_heads);
}
void resize_operator(Embedding& o, const SizeMap& m, Shapes, Shapes) {
  o.vocabulary = look_up(m, o.vocabulary);
  o.width = look_up(m, o.width);
}
void resize_operator(EmbeddingBag& o, const SizeMap& m, Shapes, Shapes) {
  o.vocabulary = look_up(m, o.vocabulary);
  o.width = look_up(m, o.width);
}
void resize_operator(Split& o, const SizeMap& m, Shapes, Shapes) {
  for (std::int64_t& size : o.sizes) size = look_up(m, size);
}
// A slice of all stays one; of another the first element keeps its place in proportion.
void resize_operator(Slice& o, const SizeMap& m, Shapes before, Shapes after) {
  const auto axis = static_cast<std::size_t>(o.axis < 0 ? o.axis + static_cast<int>(before[0].sizes.size()) : o.axis);
  const std::int64_t old_size = before[0].sizes[axis], new_size = after[0].sizes[axis];
  o.length = o.length == old_size ? new_size : look_up(m, o.length);
  const auto it = m.find(o.begin);
  o.begin = it != m.end() ? it->second : o.begin * new_size / old_size;
}
void resize_operator(Reshape& o, const SizeMap& m, Shapes, Shapes) {
  for (std::int64_t& size : o.sizes)
    if (size > 0) size = look_up(m, size);
}
void resize_operator(Broadcast& o, const SizeMap& m, Shapes, Shapes) { o.size = look_up(m, o.size); }
void resize_operator(ExpertLinear& o, const SizeMap& m, Shapes, Shapes) { o.out = look_up(m, o.out); }

template <class Other>
std::vector<std::int64_t> sizes_of(const Other&, Shapes) {
  return {};
}
std::vector<std::int64_t> sizes_of(const Input& o, Shapes) { return o.shape.sizes; }
std::vector<std::int64_t> sizes_of(const Linear& o, Shapes) { return {o.out}; }
std::vector<std::int64_t> sizes_of(const Conv2d& o, Shapes) { return {o.out, o.groups}; }
std::vector<std::int64_t> sizes_of(const Attention& o, Shapes) { return {o.heads, o.kv_heads}; }
std::vector<std::int64_t> sizes_of(const Embedding& o, Shapes) { return {o.vocabulary, o.width}; }
std::vector<std::int64_t> sizes_of(const EmbeddingBag& o, Shapes) { return {o.vocabulary, o.width}; }
std::vector<std::int64_t> sizes_of(const Split& o, Shapes) { return o.sizes; }
std::vector<std::int64_t> sizes_of(const Slice& o, Shapes) { return {o.length}; }
std::vector<std::int64_t> sizes_of(const Reshape& o, Shapes) { return o.sizes; }
std::vector<std::int64_t> sizes_of(const Broadcast& o, Shapes) { return {o.size}; }
std::vector<std::int64_t> sizes_of(const ExpertLinear& o, Shapes) { return {o.out}; }

// A weight's new shape is known once its first reader is met: from the operator where it has slots for weights.
class Rebuilder {
 public:
  Rebuilder(const Graph& graph, const Rebuild& how)
      : graph_(graph), how_(how), shapes_(graph.nodes().size()), operators_(graph.nodes().size()) {}

  std::optional<Graph> run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n)
      if (!std::holds_alternative<Weight>(graph_.nodes()[n].op) && !shape(n)) return std::nullopt;
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n)
      if (shapes_[n].empty()) settle_weight(n, mapped(graph_.nodes()[n].outputs[0]));
    return build();
  }

 private:
  [[nodiscard]] TensorShape mapped(TensorShape s) const {
    for (std::int64_t& size : s.sizes) size = how_.size(size);
    return s;
  }
  void settle_weight(std::size_t n, TensorShape shape) {
    shapes_[n] = {shape};
    operators_[n] = Weight{std::move(shape)};
  }
  [[nodiscard]] bool is_open(GraphTensorRef t) const { return shapes_[t.node.value].empty(); }  // a weight not settled yet

  bool shape(std::size_t n) {
    const GraphNode& node = graph_.nodes()[n];
    try {
      const std::vector<bool> slots = weight_slots(node.op, node.inputs.size());
      std::vector<TensorShape> before, after;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const GraphTensorRef t = node.inputs[i];
        if (!slots[i] && is_open(t)) settle_weight(t.node.value, mapped(graph_.shape(t)));
        before.push_back(graph_.shape(t));
        after.push_back(slots[i] ? TensorShape{} : shapes_[t.node.value][static_cast<std::size_t>(t.output)]);
      }
      operators_[n] = how_.change(node.op, before, after);
      if (how_.check && !how_.check(node.op, before, after)) return false;
      settle_slots(node, slots, operators_[n], after);
      shapes_[n] = infer_shapes(operators_[n], after);
    } catch (const ShapeError& e) { throw ShapeError(fmt::format("{}: {}", node.name, e.what())); }
    return true;
  }

  void settle_slots(const GraphNode& node, const std::vector<bool>& slots, const Operator& op, std::vector<TensorShape>& after) {
    std::vector<TensorShape> activations;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!slots[i]) activations.push_back(after[i]);
    const std::vector<TensorShape> wanted = weight_shapes(op, activations);
    for (std::size_t i = activations.size(); i < slots.size(); ++i) {  // slots come last
      const GraphTensorRef t = node.inputs[i];
      TensorShape shape = i - activations.size() < wanted.size() ? wanted[i - activations.size()] : mapped(graph_.shape(t));
      if (std::holds_alternative<Attention>(op)) shape.sizes[0] = graph_.shape(t).sizes[0];  // buckets of positions are free
      if (is_open(t)) settle_weight(t.node.value, std::move(shape));
      after[i] = shapes_[t.node.value][static_cast<std::size_t>(t.output)];
    }
  }

  [[nodiscard]] Graph build() const {
    GraphBuilder builder(graph_.name());
    std::size_t begun = 0;
    auto begin_blocks = [&](std::size_t count) {
      for (; begun < count; ++begun) builder.begin_block(graph_.blocks()[begun].name, graph_.blocks()[begun].weighty);
    };
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      begin_blocks(static_cast<std::size_t>(graph_.nodes()[n].block) + 1);
      builder.add_raw(graph_.nodes()[n].name, operators_[n], graph_.nodes()[n].inputs);
    }
    begin_blocks(graph_.blocks().size());
    return std::move(builder).build();
  }

  const Graph& graph_;
  const Rebuild& how_;
  std::vector<std::vector<TensorShape>> shapes_;  // new outputs by node; empty: not known yet
  std::vector<Operator> operators_;               // new, by node
};

}  // namespace

std::optional<Graph> rebuild(const Graph& graph, const Rebuild& how) { return Rebuilder(graph, how).run(); }

Operator with_sizes(const Operator& op, const SizeMap& map, std::span<const TensorShape> before, std::span<const TensorShape> after) {
  Operator result = op;
  std::visit([&](auto& o) { resize_operator(o, map, before, after); }, result);
  return result;
}

std::vector<std::int64_t> free_sizes(const Operator& op, std::span<const TensorShape> inputs) {
  return std::visit([&](const auto& o) { return sizes_of(o, inputs); }, op);
}

}  // namespace pcg
