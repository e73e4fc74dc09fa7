#include "pcg/resizing/segments.hpp"

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace pcg {
namespace {

// The dim that the operator joins or takes apart.
std::optional<std::size_t> joined_dim(const Operator& op, std::size_t rank) {
  if (const auto* c = std::get_if<Concat>(&op)) return resolve_axis(c->axis, rank);
  if (const auto* s = std::get_if<Split>(&op)) return resolve_axis(s->axis, rank);
  if (const auto* s = std::get_if<Slice>(&op)) return resolve_axis(s->axis, rank);
  return std::nullopt;
}

}  // namespace

Segments::Segments(std::span<const Graph> graphs) {
  for (const Graph& g : graphs) number(g);
  cuts_.resize(sizes_.size());
  parent_.resize(sizes_.size());
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  join_sources(graphs);
  for (std::size_t g = 0; g < graphs.size(); ++g)
    for (std::size_t n = 0; n < graphs[g].nodes().size(); ++n) {
      join_loops(g, graphs[g].nodes()[n], n);
      add_parts(graphs[g], g, n);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Part& p : parts_)
      if (spread(p)) changed = true;
  }
}

const std::set<std::int64_t>& Segments::cuts(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const {
  return cuts_[root(index(graph, tensor, dim))];
}

std::vector<std::int64_t> Segments::of(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const {
  std::vector<std::int64_t> result;
  std::int64_t begin = 0;
  for (std::int64_t at : cuts(graph, tensor, dim)) result.push_back(at - std::exchange(begin, at));
  result.push_back(sizes_[index(graph, tensor, dim)] - begin);
  return result;
}

void Segments::number(const Graph& graph) {
  std::vector<std::vector<std::size_t>>& nodes = first_.emplace_back();
  for (const GraphNode& n : graph.nodes()) {
    std::vector<std::size_t>& outputs = nodes.emplace_back();
    for (const TensorShape& s : n.outputs) {
      outputs.push_back(sizes_.size());
      sizes_.insert(sizes_.end(), s.sizes.begin(), s.sizes.end());
    }
  }
}

void Segments::join_sources(std::span<const Graph> graphs) {
  std::map<std::string, std::pair<std::size_t, const TensorShape*>> met;  // the number of dim 0, and all sizes
  for (std::size_t g = 0; g < graphs.size(); ++g)
    for (std::size_t n = 0; n < graphs[g].nodes().size(); ++n) {
      const GraphNode& node = graphs[g].nodes()[n];
      if (!is_source(node.op)) continue;
      const std::size_t first = first_[g][n][0];
      const auto [it, is_new] = met.try_emplace(node.name, first, &node.outputs[0]);
      if (is_new || it->second.second->sizes != node.outputs[0].sizes) continue;
      for (std::size_t d = 0; d < node.outputs[0].sizes.size(); ++d) parent_[root(first + d)] = root(it->second.first + d);
    }
}

void Segments::join_loops(std::size_t graph, const GraphNode& node, std::size_t n) {
  const IterationSpace& space = *node.space;
  std::map<std::pair<int, std::int64_t>, std::size_t> same;  // by loop and size
  const auto meet = [&](std::size_t first, const std::vector<int>& loops) {
    const std::optional<std::size_t> axis = joined_dim(node.op, loops.size());
    for (std::size_t d = 0; d < loops.size(); ++d) {
      if (d == axis || loops[d] < 0) continue;
      const auto [other, is_new] = same.try_emplace({loops[d], sizes_[first + d]}, first + d);
      if (!is_new) parent_[root(first + d)] = root(other->second);
    }
  };
  for (std::size_t o = 0; o < node.outputs.size(); ++o) meet(first_[graph][n][o], space.outputs[o]);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) meet(index(graph, node.inputs[i], 0), space.inputs[i]);
}

void Segments::add_parts(const Graph& graph, std::size_t g, std::size_t n) {
  const GraphNode& node = graph.nodes()[n];
  const std::optional<std::size_t> axis = joined_dim(node.op, node.outputs[0].sizes.size());
  if (!axis) return;
  const auto output = [&](std::size_t o) { return first_[g][n][o] + *axis; };
  std::int64_t begin = 0;
  const auto add = [&](std::size_t part, std::size_t whole) {
    parts_.push_back({.part = part, .whole = whole, .begin = begin});
    begin += sizes_[part];
  };
  if (std::holds_alternative<Concat>(node.op))
    for (GraphTensorRef t : node.inputs) add(index(g, t, *axis), output(0));
  if (const auto* s = std::get_if<Slice>(&node.op)) begin = s->begin;
  if (!std::holds_alternative<Concat>(node.op))
    for (std::size_t o = 0; o < node.outputs.size(); ++o) add(output(o), index(g, node.inputs[0], *axis));
}

bool Segments::spread(const Part& p) {
  const std::size_t part = root(p.part), whole = root(p.whole);
  const std::int64_t end = p.begin + sizes_[p.part];
  bool changed = false;
  for (std::int64_t at : std::vector{p.begin, end}) changed |= cut(whole, at);
  for (std::int64_t at : std::set(cuts_[part])) changed |= cut(whole, p.begin + at);
  for (std::int64_t at : std::set(cuts_[whole])) changed |= at > p.begin && at < end && cut(part, at - p.begin);
  return changed;
}

// False where it is cut there already, where the dim ends, and where there is no room.
bool Segments::cut(std::size_t dim, std::int64_t at) {
  return at > 0 && at < sizes_[dim] && cuts_[dim].size() < kMostCuts && cuts_[dim].insert(at).second;
}

std::size_t Segments::index(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const {
  return first_[graph][tensor.node.value][static_cast<std::size_t>(tensor.output)] + dim;
}

std::size_t Segments::root(std::size_t dim) const {
  while (parent_[dim] != dim) dim = parent_[dim] = parent_[parent_[dim]];
  return dim;
}

}  // namespace pcg
