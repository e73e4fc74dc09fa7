#include "pcg/resizing/mapped_rebuild.hpp"

#include "pcg/operators/weights.hpp"
#include "pcg/resizing/operator_sizes.hpp"

namespace pcg {
namespace {

std::int64_t look_up(const SizeMap& map, std::int64_t size) {
  const auto it = map.find(size);
  return it == map.end() ? size : it->second;
}

// A place inside a piece that has a size of its own is there; others keep their place in proportion.
std::int64_t inside(const SizeMap& map, std::int64_t at, std::int64_t old, std::int64_t now) {
  const auto it = map.find(at);
  return it != map.end() ? it->second : at * now / old;
}

class ByValue : public NewSizes {
 public:
  explicit ByValue(const SizeMap& map) : map_(map) {}
  std::int64_t count(std::int64_t old) override { return look_up(map_, old); }
  std::int64_t output(std::size_t, std::size_t, std::int64_t old) override { return look_up(map_, old); }
  std::int64_t input(std::size_t, std::size_t, std::int64_t old) override { return look_up(map_, old); }
  std::int64_t offset(std::size_t, std::int64_t at, std::int64_t old, std::int64_t now) override { return inside(map_, at, old, now); }

 private:
  const SizeMap& map_;
};

class ByPiece : public NewSizes {
 public:
  ByPiece(const SizeMap& map, const Together& one, GraphNodeId node) : map_(map), one_(one), node_(node) {}
  std::int64_t count(std::int64_t old) override { return look_up(map_, old); }
  std::int64_t output(std::size_t output, std::size_t dim, std::int64_t) override { return sum({node_, static_cast<int>(output)}, dim); }
  std::int64_t input(std::size_t input, std::size_t dim, std::int64_t) override { return sum(one_.graph.node(node_).inputs[input], dim); }
  std::int64_t offset(std::size_t dim, std::int64_t at, std::int64_t, std::int64_t) override {
    std::int64_t begin = 0, result = 0;
    for (std::int64_t size : one_.pieces.of(one_.number, one_.graph.node(node_).inputs[0], dim)) {
      if (begin == at) break;
      const std::int64_t now = look_up(map_, size);
      result += begin + size <= at ? now : inside(map_, at - begin, size, now);  // inside: where a dim is not cut further
      begin += size;
      if (begin > at) break;
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t sum(GraphTensorRef t, std::size_t dim) const {
    std::int64_t result = 0;
    for (std::int64_t size : one_.pieces.of(one_.number, t, dim)) result += look_up(map_, size);
    return result;
  }

  const SizeMap& map_;
  const Together& one_;
  GraphNodeId node_;
};

// Notes down what it is asked for.
class Asked : public NewSizes {
 public:
  Asked(std::set<std::int64_t>& sizes, const Together& one, GraphNodeId node) : sizes_(sizes), one_(one), node_(node) {}
  std::int64_t count(std::int64_t old) override {
    sizes_.insert(old);
    return old;
  }
  std::int64_t output(std::size_t output, std::size_t dim, std::int64_t old) override {
    return add({node_, static_cast<int>(output)}, dim, old);
  }
  std::int64_t input(std::size_t input, std::size_t dim, std::int64_t old) override {
    return add(one_.graph.node(node_).inputs[input], dim, old);
  }
  std::int64_t offset(std::size_t dim, std::int64_t at, std::int64_t, std::int64_t) override {
    std::int64_t begin = 0;
    for (std::int64_t size : one_.pieces.of(one_.number, one_.graph.node(node_).inputs[0], dim))
      if ((begin += size) <= at) sizes_.insert(size);
    return at;
  }

 private:
  std::int64_t add(GraphTensorRef t, std::size_t dim, std::int64_t old) {
    for (std::int64_t size : one_.pieces.of(one_.number, t, dim)) sizes_.insert(size);
    return old;
  }

  std::set<std::int64_t>& sizes_;
  const Together& one_;
  GraphNodeId node_;
};

TensorShape weight_shape(const Graph& graph, GraphNodeId n, NewSizes& sizes) {
  return std::get<Weight>(with_sizes(graph.node(n).op, sizes, {}, {})).shape;
}

}  // namespace

Rebuild by(const SizeMap& map, const Graph& graph) {
  return {.change =
              [&map, &graph](GraphNodeId n, auto before, auto after) {
                ByValue sizes(map);
                return with_sizes(graph.node(n).op, sizes, before, after);
              },
          .weight =
              [&map, &graph](GraphNodeId n) {
                ByValue sizes(map);
                return weight_shape(graph, n, sizes);
              }};
}

Rebuild by(const SizeMap& map, const Together& one) {
  return {.change =
              [&map, one](GraphNodeId n, auto before, auto after) {
                ByPiece sizes(map, one, n);
                return with_sizes(one.graph.node(n).op, sizes, before, after);
              },
          .weight =
              [&map, one](GraphNodeId n) {
                if (one.weights)
                  if (const auto it = one.weights->find(one.graph.node(n).name); it != one.weights->end()) return it->second;
                ByPiece sizes(map, one, n);
                return weight_shape(one.graph, n, sizes);
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
    Asked asked(sizes, one, GraphNodeId(n));
    const std::vector<TensorShape> inputs = one.graph.input_shapes(GraphNodeId(n));
    (void)with_sizes(node.op, asked, inputs, inputs);
  }
}

}  // namespace pcg
