#include "pcg/resizing/resize.hpp"

#include <algorithm>
#include <vector>

#include "pcg/resizing/rebuild.hpp"

namespace pcg {
namespace {

// Whether only a loss takes the output, or nothing does: other operators may be as wide as the vocabulary by chance.
bool is_head(const Graph& graph, const std::vector<std::vector<GraphNodeId>>& consumers, GraphNodeId n) {
  return std::ranges::all_of(consumers[static_cast<std::size_t>(n.value)], [&](GraphNodeId c) {
    const Operator& op = graph.node(c).op;
    return std::holds_alternative<CrossEntropy>(op) || (std::holds_alternative<Unary>(op) && is_head(graph, consumers, c));
  });
}

SizeMap sizes_of(std::span<const Padding> padding, Padded of) {
  SizeMap map;
  for (const Padding& p : padding)
    if (p.of == of) map[p.from] = p.to;
  return map;
}

// Gives a sample this capacity at each expert: by a factor from the middle between one place less and as many, safe from rounding.
template <class Routing>
void give_places(Routing& o, std::int64_t places, const TensorShape& gates) {
  const double even = o.top_k * static_cast<double>(gates.sizes[1]) / static_cast<double>(gates.sizes[2]);
  o.capacity_factor = (static_cast<double>(places) - 0.5) / (even * o.imbalance);
}

}  // namespace

// An addition of several summands is several operators of the serial form.
base::Attempt<Pcg> with_operators(const Pcg& pcg, const Graph& graph) {
  PcgBuilder builder(pcg.name(), {pcg.blocks().begin(), pcg.blocks().end()});
  std::size_t next = 0;
  for (const PcgNode& n : pcg.nodes()) {
    const ParallelOperator* parallel = n.parallel_operator();
    const bool adds = !parallel && std::holds_alternative<Summands>(*n.operation());
    const base::Attempt<NodeId> added =
        parallel ? builder.try_add(n.name, *parallel, n.inputs[0], n.block)
                 : builder.try_add(n.name, adds ? *n.operation() : graph.nodes()[next].op, n.inputs, n.sharding, n.block);
    if (!added) return added.refusal();
    if (!parallel) next += adds ? std::max<std::size_t>(n.inputs.size() - 1, 1) : 1;
  }
  return std::move(builder).build();
}

Graph padded(const Graph& graph, std::span<const Padding> padding) {
  const SizeMap vocabularies = sizes_of(padding, Padded::vocabulary), places = sizes_of(padding, Padded::expert_capacity);
  const auto pad = [&](std::int64_t& size) { size = new_size(vocabularies, size); };
  // `by_expert`: [experts, b, places, h].
  const auto widen = [&](auto& o, const TensorShape& by_expert, const TensorShape& gates) {
    if (const auto it = places.find(by_expert.sizes[2]); it != places.end()) give_places(o, it->second, gates);
  };
  const auto consumers = graph.consumers();
  const auto change = [&](GraphNodeId n, std::span<const TensorShape> before, auto) {
    Operator result = graph.node(n).op;
    if (auto* e = std::get_if<Embedding>(&result)) pad(e->vocabulary);
    if (auto* b = std::get_if<EmbeddingBag>(&result)) pad(b->vocabulary);
    if (auto* l = std::get_if<Linear>(&result); l != nullptr && is_head(graph, consumers, n)) pad(l->out);
    if (auto* d = std::get_if<MoeDispatch>(&result)) widen(*d, graph.node(n).outputs[0], before[1]);
    if (auto* c = std::get_if<MoeCombine>(&result)) widen(*c, before[0], before[1]);
    return result;
  };
  return accepted(rebuild(graph, {.change = change, .weight = [&](GraphNodeId n) { return graph.node(n).outputs[0]; }}));
}

}  // namespace pcg
