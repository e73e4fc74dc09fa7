#include "pcg/graph/stored_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <variant>
#include <vector>

namespace pcg {
namespace {

using Sizes = std::vector<std::int64_t>;

WeightPart all_of(const std::string& name, const TensorShape& shape) {
  return {name, shape.sizes, Sizes(shape.sizes.size(), 0), shape.sizes};
}

// The parts of one weight.
bool overlap(const WeightPart& a, const WeightPart& b) {
  for (std::size_t d = 0; d < a.sizes.size(); ++d)
    if (a.begin[d] + a.sizes[d] <= b.begin[d] || b.begin[d] + b.sizes[d] <= a.begin[d]) return false;
  return true;
}

// Tensors of weights as parts of the model's weights. What has several parts has them along one dim, in order.
Weight concat_of(const std::vector<Weight>& tensors, const TensorShape& shape, int along) {
  Weight result{shape, {}, along, tensors.front().frozen};
  for (const Weight& t : tensors) result.parts.insert(result.parts.end(), t.parts.begin(), t.parts.end());
  return result;
}

Weight slice_of(const Weight& tensor, std::size_t axis, std::int64_t begin, std::int64_t length) {
  Weight result{tensor.shape, {}, tensor.along, tensor.frozen};
  result.shape.sizes[axis] = length;
  std::int64_t at = 0;  // where the part begins in the tensor
  for (WeightPart p : tensor.parts) {
    const std::int64_t size = p.sizes[axis], from = std::max(begin, at), to = std::min(begin + length, at + size);
    if (axis == static_cast<std::size_t>(tensor.along)) at += size;
    if (from >= to) continue;
    p.begin[axis] += from - (axis == static_cast<std::size_t>(tensor.along) ? at - size : 0);
    p.sizes[axis] = to - from;
    result.parts.push_back(std::move(p));
  }
  return result;
}

// Which tensors of a graph are made of weights by joining and cutting alone, except of weights that have to stay whole.
class Views {
 public:
  Views(const Graph& graph, const std::set<std::string>& stay) : graph_(graph), views_(graph.nodes().size()) {
    for (std::size_t n = 0; n < views_.size(); ++n) {
      views_[n] = views_of(graph.nodes()[n]);
      for (const Weight& view : views_[n])
        if (std::ranges::any_of(view.parts, [&](const WeightPart& p) { return stay.contains(p.of); })) {
          views_[n].clear();
          break;
        }
    }
  }

  // Whether a node is one of weights alone; its outputs are then views.
  [[nodiscard]] bool is_view(std::size_t node) const { return !views_[node].empty(); }
  [[nodiscard]] const Weight& view(GraphTensorRef t) const { return views_[t.node.value][static_cast<std::size_t>(t.output)]; }

  // The views that operators compute with, ascending: what is to be stored.
  [[nodiscard]] std::set<GraphTensorRef> read() const {
    std::set<GraphTensorRef> result;
    for (std::size_t n = 0; n < views_.size(); ++n)
      if (!is_view(n))
        for (const GraphTensorRef t : graph_.nodes()[n].inputs)
          if (is_view(t.node.value)) result.insert(t);
    return result;
  }

 private:
  [[nodiscard]] std::vector<Weight> views_of(const GraphNode& node) const {
    if (const auto* weight = std::get_if<Weight>(&node.op)) {
      Weight view = *weight;
      if (view.parts.empty()) view.parts.push_back(all_of(node.name, view.shape));
      return {std::move(view)};
    }
    if (node.inputs.empty() || !std::ranges::all_of(node.inputs, [&](GraphTensorRef t) { return is_view(t.node.value); })) return {};
    const std::size_t rank = node.outputs[0].sizes.size();
    if (const auto* concat = std::get_if<Concat>(&node.op)) {
      const auto along = static_cast<int>(resolve_axis(concat->axis, rank));
      std::vector<Weight> tensors;
      for (const GraphTensorRef t : node.inputs) tensors.push_back(view(t));
      if (std::ranges::any_of(tensors, [&](const Weight& t) { return t.parts.size() > 1 && t.along != along; })) return {};
      // Trained and frozen weights are stored separately.
      if (std::ranges::any_of(tensors, [&](const Weight& t) { return t.frozen != tensors.front().frozen; })) return {};
      return {concat_of(tensors, node.outputs[0], along)};
    }
    if (const auto* slice = std::get_if<Slice>(&node.op))
      return {slice_of(view(node.inputs[0]), resolve_axis(slice->axis, rank), slice->begin, slice->length)};
    std::vector<Weight> result;
    if (const auto* split = std::get_if<Split>(&node.op)) {
      std::int64_t begin = 0;
      for (const std::int64_t size : split->sizes) {
        result.push_back(slice_of(view(node.inputs[0]), resolve_axis(split->axis, rank), begin, size));
        begin += size;
      }
    }
    return result;
  }

  const Graph& graph_;
  std::vector<std::vector<Weight>> views_;  // per node and output
};

// The weights of which what is read is not each element once.
std::set<std::string> not_once(const Views& views) {
  std::map<std::string, std::vector<WeightPart>> by_weight;
  for (const GraphTensorRef t : views.read())
    for (const WeightPart& p : views.view(t).parts) by_weight[p.of].push_back(p);
  const auto elements = [](const Sizes& s) { return std::accumulate(s.begin(), s.end(), std::int64_t{1}, std::multiplies<>()); };
  std::set<std::string> found;
  for (const auto& [name, parts] : by_weight) {
    std::int64_t stored = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      stored += elements(parts[i].sizes);
      for (std::size_t j = 0; j < i; ++j)
        if (overlap(parts[i], parts[j])) found.insert(name);
    }
    if (stored != elements(parts[0].whole)) found.insert(name);
  }
  return found;
}

// "up.weight.from512": by where it begins.
std::string name_of(const WeightPart& p) {
  std::string text = p.of;
  for (std::size_t d = 0; d < p.sizes.size(); ++d)
    if (p.sizes[d] != p.whole[d]) text += fmt::format("{}{}", text.size() == p.of.size() ? ".from" : ".", p.begin[d]);
  return text;
}

// A weight that stays as it is takes its views with it, and what else these are of.
std::set<std::string> weights_that_stay(const Graph& graph) {
  std::set<std::string> stay;
  for (;;) {
    std::set<std::string> more = not_once(Views(graph, stay));
    if (more.empty()) return stay;
    stay.merge(more);
  }
}

}  // namespace

Graph with_stored_weights(const Graph& graph) {
  const Views views(graph, weights_that_stay(graph));
  const std::set<GraphTensorRef> read = views.read();
  const auto consumers = graph.consumers();
  std::set<std::string> names;
  for (const GraphNode& n : graph.nodes()) names.insert(n.name);
  GraphBuilder builder(graph.name());
  std::map<GraphTensorRef, GraphTensorRef> now;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    builder.begin_blocks(graph.blocks(), static_cast<std::size_t>(node.block) + 1);
    if (views.is_view(n) && !consumers[n].empty()) {
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const GraphTensorRef t{GraphNodeId(n), static_cast<int>(o)};
        if (!read.contains(t)) continue;
        const bool is_weight = std::holds_alternative<Weight>(node.op);
        const Weight& view = views.view(t);
        const bool is_cut = !is_weight && view.parts.size() == 1;
        std::string name = is_cut ? name_of(view.parts[0]) : node.outputs.size() == 1 ? node.name : fmt::format("{}.{}", node.name, o);
        while (name != node.name && !names.insert(name).second) name += "'";
        now[t] = builder.add_raw(name, is_weight ? node.op : Operator(view), {}).front();
      }
      continue;
    }
    std::vector<GraphTensorRef> inputs;
    for (const GraphTensorRef t : node.inputs) inputs.push_back(now.at(t));
    const std::vector<GraphTensorRef> outputs = builder.add_raw(node.name, node.op, std::move(inputs));
    for (std::size_t o = 0; o < outputs.size(); ++o) now[{GraphNodeId(n), static_cast<int>(o)}] = outputs[o];
  }
  return std::move(builder).build();
}

std::size_t operators_on_weights(const Graph& graph) {
  const auto is_weight = [&](GraphTensorRef t) { return std::holds_alternative<Weight>(graph.node(t.node).op); };
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.nodes(), [&](const GraphNode& n) { return !n.inputs.empty() && std::ranges::all_of(n.inputs, is_weight); }));
}

std::optional<std::string> storage_fault(const Pcg& pcg) {
  struct Stored {
    WeightPart part;
    const std::string* in = nullptr;
  };
  std::map<std::string, std::vector<Stored>> by_weight;
  for (const PcgNode& n : pcg.nodes()) {
    if (!n.is_weight()) continue;
    const auto& weight = std::get<Weight>(*n.operation());
    if (weight.parts.empty()) by_weight[n.name].push_back({all_of(n.name, weight.shape), &n.name});
    for (const WeightPart& p : weight.parts) by_weight[p.of].push_back({p, &n.name});
  }
  for (const auto& [name, all] : by_weight)
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (all[i].part.whole != all[j].part.whole)
          return fmt::format("\"{}\" has other sizes as a part of \"{}\" than as one of \"{}\"", name, *all[j].in, *all[i].in);
        if (overlap(all[i].part, all[j].part))
          return fmt::format("elements of \"{}\" are stored in \"{}\" and in \"{}\", where they would be trained apart", name, *all[j].in,
                             *all[i].in);
      }
  return std::nullopt;
}

Pcg with_model_weights(const Pcg& pcg) {
  PcgBuilder builder(pcg.name(), {pcg.blocks().begin(), pcg.blocks().end()});
  std::map<std::string, NodeId> weights;  // of the model, that are there
  const auto part = [&](const WeightPart& p, const Weight& of, const std::string& name, int block) {
    TensorShape shape{p.whole, of.shape.element};
    const auto [at, is_new] = weights.try_emplace(p.of);
    if (is_new) {
      const Operator weight = Weight{.shape = shape, .frozen = of.frozen};
      at->second = builder.add(p.of, weight, {}, unsharded(iteration_space(weight, {})), block);
    }
    TensorRef t{at->second};
    for (std::size_t d = 0; d < p.sizes.size(); ++d) {
      if (p.sizes[d] == p.whole[d]) continue;
      const Operator slice = Slice{static_cast<int>(d), p.begin[d], p.sizes[d]};
      const Sharding whole = unsharded(iteration_space(slice, std::span(&shape, 1)));
      t = {builder.add(fmt::format("{}.cut{}", name, d), slice, {t}, whole, block)};
      shape.sizes[d] = p.sizes[d];
    }
    return t;
  };
  std::vector<NodeId> now;
  for (const PcgNode& n : pcg.nodes()) {
    const auto* weight = n.operation() ? std::get_if<Weight>(n.operation()) : nullptr;
    if (weight != nullptr && !weight->parts.empty()) {
      std::vector<TensorRef> parts;
      std::vector<TensorShape> shapes;
      for (const WeightPart& p : weight->parts) {
        parts.push_back(part(p, *weight, fmt::format("{}.part{}", n.name, parts.size()), n.block));
        shapes.push_back({p.sizes, weight->shape.element});
      }
      TensorRef at = parts[0];
      if (parts.size() > 1) {
        const Operator concat = Concat{weight->along};
        at = {builder.add(n.name, concat, parts, unsharded(iteration_space(concat, shapes)), n.block)};
      }
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
