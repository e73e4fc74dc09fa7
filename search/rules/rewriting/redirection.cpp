#include "search/rules/rewriting/replace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace rules {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

// The tensor that the i-th output of the source is in the graph.
TensorRef matched_output(const Term& source, std::size_t i, const Match& match, const pcg::Pcg& graph) {
  const Node& n = source.nodes[source.outputs[i]];
  if (n.kind == Kind::variable) return match.variables[n.variable];
  const auto at = static_cast<std::size_t>(std::count_if(source.nodes.begin(), source.nodes.begin() + source.outputs[i],
                                                         [](const Node& m) { return m.kind != Kind::variable; }));
  const NodeId node = match.nodes[at];
  return {node, n.kind == Kind::split1 && graph.node(node).outputs.size() > 1 ? 1 : 0};
}

// The splits that the match names, and which of their halves the rule speaks of.
std::map<NodeId, std::set<int>> halves_of_splits(const Term& source, const Match& match, const pcg::Pcg& graph) {
  std::map<NodeId, std::set<int>> halves;
  std::size_t at = 0;
  for (const Node& n : source.nodes) {
    if (n.kind == Kind::variable) continue;
    const NodeId node = match.nodes[at++];
    if (is_split(n.kind) && graph.node(node).outputs.size() > 1) halves[node].insert(n.kind == Kind::split1 ? 1 : 0);
  }
  return halves;
}

FreshNode slice_of_half(const pcg::PcgNode& node, int half) {
  const auto& split = std::get<pcg::Split>(*node.operation());
  const auto h = static_cast<std::size_t>(half);
  return {.op = pcg::Slice{split.axis, half == 0 ? 0 : split.sizes[0], split.sizes[h]},
          .inputs = {{false, node.inputs[0].node.value, node.inputs[0].output}},
          .sharding = node.sharding,
          .outputs = {node.outputs[h]}};
}

}  // namespace

std::optional<Wire> Redirections::resolve(TensorRef t) const {
  Wire w{false, t.node.value, t.output};
  for (std::size_t i = 0; i <= now.size(); ++i) {  // an output may become a variable that is another output
    const auto it = now.find({NodeId(w.node), w.output});
    if (it == now.end()) return w;
    w = it->second;
    if (w.fresh) return w;
  }
  return std::nullopt;
}

base::Attempt<Redirections> redirect(const Rule& rule, const Match& match, const pcg::Pcg& graph, Target& target) {
  const Term& source = rule.source();
  Redirections r;
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    if (source.nodes[source.outputs[i]].kind == Kind::variable) r.of_variable = true;
    const TensorRef old = matched_output(source, i, match, graph);
    const Wire now = target.outputs[i];
    const auto& maker = now.fresh ? target.nodes[now.node].outputs : graph.nodes()[now.node].outputs;
    const pcg::ParallelShape& shape = maker[static_cast<std::size_t>(now.output)];
    if (shape != graph.shape(old))
      return base::Refusal{fmt::format("the result would lie as {} instead of {}", to_text(shape), to_text(graph.shape(old)))};
    r.now.emplace(old, now);
    r.first_output = std::min(r.first_output, std::size_t{old.node.value});
  }
  for (const auto& [split, spoken_of] : halves_of_splits(source, match, graph)) {
    if (spoken_of.size() > 1) continue;
    const int other = 1 - *spoken_of.begin();
    target.nodes.push_back(slice_of_half(graph.node(split), other));
    r.now.emplace(TensorRef{split, other}, Wire{true, target.nodes.size() - 1, 0});
  }
  return r;
}

}  // namespace rules
