#include "pcg/resizing/rebuild.hpp"

#include <fmt/core.h>

#include <optional>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/operators/weights.hpp"

namespace pcg {
namespace {

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
    std::size_t begun = 0;
    auto begin_blocks = [&](std::size_t count) {
      for (; begun < count; ++begun) builder.begin_block(graph_.blocks()[begun]);
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

base::Attempt<Graph> rebuild(const Graph& graph, const Rebuild& how) { return Rebuilder(graph, how).run(); }

}  // namespace pcg
