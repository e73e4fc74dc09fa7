#include "pcg/resizing/resize.hpp"

#include "pcg/graph/serial.hpp"
#include "pcg/resizing/mapped_rebuild.hpp"

namespace pcg {
namespace {

// The operators of `graph` (the serial form of `pcg`, resized) with the parallel operators and shardings of `pcg`.
base::Attempt<Pcg> with_operators(const Pcg& pcg, const Graph& graph) {
  PcgBuilder builder(pcg.name(), {pcg.blocks().begin(), pcg.blocks().end()});
  std::size_t next = 0;
  for (const PcgNode& n : pcg.nodes()) {
    const ParallelOperator* op = n.parallel_operator();
    const base::Attempt<NodeId> added = op ? builder.try_add(n.name, *op, n.inputs[0], n.block)
                                           : builder.try_add(n.name, graph.nodes()[next++].op, n.inputs, n.sharding, n.block);
    if (!added) return added.refusal();
  }
  return std::move(builder).build();
}

}  // namespace

Graph resize(const Graph& graph, const SizeMap& sizes) { return accepted(rebuild(graph, by(sizes))); }

base::Attempt<Pcg> try_resize(const Pcg& pcg, const SizeMap& sizes) {
  const base::Attempt<Graph> graph = rebuild(serial(pcg), by(sizes));
  if (!graph) return graph.refusal();
  return with_operators(pcg, *graph);
}

Pcg resize(const Pcg& pcg, const SizeMap& sizes) { return accepted(try_resize(pcg, sizes)); }

Graph padded(const Graph& graph, std::span<const Padding> padding) {
  SizeMap map;
  for (const Padding& p : padding) map[p.from] = p.to;
  auto pad = [&](std::int64_t& size) {
    if (const auto it = map.find(size); it != map.end()) size = it->second;
  };
  return accepted(rebuild(graph, {.change =
                                      [&](const Operator& op, auto, auto) {
                                        Operator result = op;
                                        if (auto* e = std::get_if<Embedding>(&result)) pad(e->vocabulary);
                                        if (auto* b = std::get_if<EmbeddingBag>(&result)) pad(b->vocabulary);
                                        if (auto* l = std::get_if<Linear>(&result)) pad(l->out);
                                        return result;
                                      },
                                  .size = [](std::int64_t size) { return size; },
                                  .check = {}}));
}

}  // namespace pcg
