#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "search/rules/rewriting/replace.hpp"

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

// The splits of which the rule speaks of one half only, and the other half.
std::map<NodeId, int> other_halves(const Term& source, const Match& match, const pcg::Pcg& graph) {
  std::map<NodeId, int> halves;
  std::size_t at = 0;
  for (std::size_t n = 0; n < source.nodes.size(); ++n) {
    const Kind kind = source.nodes[n].kind;
    if (kind == Kind::variable) continue;
    const NodeId node = match.nodes[at++];
    if (is_split(kind) && !other_half(source, n) && graph.node(node).outputs.size() > 1) halves[node] = kind == Kind::split1 ? 0 : 1;
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

using Consumers = std::vector<std::vector<NodeId>>;  // by node of the old graph

// The nodes of the old graph that the target reads, and those that take the place of something: they stay.
std::vector<bool> needed_nodes(const pcg::Pcg& graph, const Target& target, const Redirections& redirections) {
  std::vector<bool> needed(graph.nodes().size());
  const auto need = [&](const Wire& w) {
    if (!w.fresh && !redirections.now.contains({NodeId(w.node), w.output})) needed[w.node] = true;
  };
  for (const FreshNode& f : target.nodes)
    for (const Wire& w : f.inputs) need(w);
  for (const auto& [old, now] : redirections.now) need(now);
  return needed;
}

// Is an output of the node that is not redirected read by a node that stays, or a result of the graph?
bool is_read(NodeId n, const pcg::Pcg& graph, const Consumers& consumers, const Redirections& redirections, const std::vector<bool>& gone) {
  for (int o = 0; o < static_cast<int>(graph.node(n).outputs.size()); ++o) {
    const TensorRef output{n, o};
    if (redirections.now.contains(output)) continue;
    bool result = true;
    for (NodeId c : consumers[n.value]) {
      if (std::ranges::find(graph.node(c).inputs, output) == graph.node(c).inputs.end()) continue;
      result = false;
      if (!gone[c.value]) return true;
    }
    if (result) return true;
  }
  return false;
}

// From the end of the graph, as a node goes after all that read it.
std::vector<bool> nodes_that_go(const Match& match, const pcg::Pcg& graph, const Consumers& consumers, const Target& target,
                                const Redirections& redirections) {
  const std::vector<bool> needed = needed_nodes(graph, target, redirections);
  std::vector<bool> gone(needed.size()), matched(needed.size());
  for (NodeId n : match.nodes) matched[n.value] = true;
  for (std::size_t n = gone.size(); n-- > 0;) {
    const bool lost_a_reader = std::ranges::any_of(consumers[n], [&](NodeId c) { return gone[c.value]; });
    if (needed[n] || !(matched[n] || (lost_a_reader && !graph.nodes()[n].is_source()))) continue;
    gone[n] = !is_read(NodeId(n), graph, consumers, redirections, gone);
  }
  return gone;
}

base::Attempt<Wire> resolved(const Wire& w, const Redirections& redirections, const std::vector<bool>& gone) {
  const std::optional<Wire> r = redirections.resolve({NodeId(w.node), w.output});
  if (!r) return base::Refusal{"outputs would become each other"};
  if (!r->fresh && gone[r->node]) return base::Refusal{"a tensor that is read goes"};
  return *r;
}

// A variable of the target may be another output of the same rule, so its inputs are redirected too, unless the source is a variable.
base::Attempt<std::vector<std::vector<Wire>>> inputs_of_all(const pcg::Pcg& graph, const Target& target, const Redirections& redirections,
                                                            const std::vector<bool>& gone) {
  std::vector<std::vector<Wire>> inputs(gone.size() + target.nodes.size());
  for (std::size_t n = 0; n < gone.size(); ++n) {
    if (gone[n]) continue;
    for (TensorRef t : graph.nodes()[n].inputs) {
      const base::Attempt<Wire> now = resolved({false, t.node.value, t.output}, redirections, gone);
      if (!now) return now.refusal();
      inputs[n].push_back(*now);
    }
  }
  for (std::size_t n = 0; n < target.nodes.size(); ++n)
    for (const Wire& w : target.nodes[n].inputs) {
      const base::Attempt<Wire> now = w.fresh || redirections.of_variable ? w : resolved(w, redirections, gone);
      if (!now) return now.refusal();
      inputs[gone.size() + n].push_back(*now);
    }
  return inputs;
}

// The axis along which a node is a concat; nullopt where it is none.
std::optional<int> concat_axis(std::size_t i, const pcg::Pcg& graph, const Target& target) {
  const std::size_t old = graph.nodes().size();
  const auto* op = i >= old ? std::get_if<pcg::Operator>(&target.nodes[i - old].op) : graph.nodes()[i].operation();
  const auto* concat = op ? std::get_if<pcg::Concat>(op) : nullptr;
  if (!concat) return std::nullopt;
  const auto& made = i >= old ? target.nodes[i - old].outputs[0] : graph.nodes()[i].outputs[0];
  return static_cast<int>(pcg::resolve_axis(concat->axis, made.dims.size()));
}

std::vector<Wire> with_joined(std::size_t i, const Wiring& w) {
  std::vector<Wire> all;
  for (const Wire& in : w.inputs[i]) {
    if (!w.joined[w.index(in)]) all.push_back(in);
    else std::ranges::copy(with_joined(w.index(in), w), std::back_inserter(all));
  }
  return all;
}

void join_concats(const pcg::Pcg& graph, std::span<const NodeId> parts, const Consumers& consumers, const Target& target, Wiring& w) {
  const auto was_before = [&](std::size_t i, std::size_t reader) {
    return i < w.gone.size() && std::ranges::find(parts, NodeId(i)) == parts.end() && consumers[i] == std::vector{NodeId(reader)};
  };
  const std::size_t all = w.inputs.size();
  w.joined.resize(all);
  std::vector<std::size_t> reads(all), reader(all);
  for (std::size_t i = 0; i < all; ++i)
    for (const Wire& in : w.inputs[i]) {
      ++reads[w.index(in)];
      reader[w.index(in)] = i;
    }
  for (std::size_t i = 0; i < all; ++i)
    if (const auto axis = concat_axis(i, graph, target); axis && reads[i] == 1 && !was_before(i, reader[i]))
      w.joined[i] = concat_axis(reader[i], graph, target) == axis;
  for (std::size_t i = 0; i < all; ++i)
    if (w.stays(i) && concat_axis(i, graph, target)) w.inputs[i] = with_joined(i, w);
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
  for (const auto& [split, other] : other_halves(source, match, graph)) {
    target.nodes.push_back(slice_of_half(graph.node(split), other));
    r.now.emplace(TensorRef{split, other}, Wire{true, target.nodes.size() - 1, 0});
  }
  return r;
}

base::Attempt<Wiring> wire(const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts, const Target& target,
                           const Redirections& redirections) {
  const Consumers consumers = graph.consumers();
  Wiring w;
  w.gone = nodes_that_go(match, graph, consumers, target, redirections);
  base::Attempt<std::vector<std::vector<Wire>>> inputs = inputs_of_all(graph, target, redirections, w.gone);
  if (!inputs) return inputs.refusal();
  w.inputs = std::move(*inputs);
  join_concats(graph, parts, consumers, target, w);
  return w;
}

}  // namespace rules
