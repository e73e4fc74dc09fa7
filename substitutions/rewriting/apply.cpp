#include "substitutions/rewriting/apply.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "substitutions/rewriting/fresh_names.hpp"
#include "substitutions/rewriting/regroup.hpp"
#include "substitutions/rewriting/target.hpp"

namespace substitutions {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

class Rewrite {
 public:
  // `parts`: nodes that regrouping has added.
  Rewrite(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts, Target target)
      : rule_(rule),
        match_(match),
        graph_(graph),
        consumers_(graph.consumers()),
        parts_(parts),
        target_(std::move(target)),
        gone_(graph.nodes().size()) {}

  base::Attempt<Rewritten> run() {
    if (!redirect_outputs()) return refusal_;
    keep_other_halves();
    find_gone();
    if (!find_inputs()) return refusal_;
    join_concats();
    find_blocks();
    if (!order()) return refusal_;
    return build();
  }

 private:
  bool refuse(std::string reason) {
    refusal_.why = std::move(reason);
    return false;
  }

  // What stands for a tensor of the old graph; nullopt: outputs would become each other.
  [[nodiscard]] std::optional<Wire> resolve(TensorRef t) const {
    Wire w{false, t.node.value, t.output};
    for (std::size_t i = 0; i <= redirected_.size(); ++i) {  // an output may become a variable that is another output
      const auto it = redirected_.find({NodeId(w.node), w.output});
      if (it == redirected_.end()) return w;
      w = it->second;
      if (w.fresh) return w;
    }
    return std::nullopt;
  }

  [[nodiscard]] TensorRef made_by(NodeId node, Kind kind) const {
    return {node, kind == Kind::split1 && graph_.node(node).outputs.size() > 1 ? 1 : 0};
  }
  bool redirect_outputs() {
    const Term& source = rule_.source();
    for (std::size_t i = 0; i < source.outputs.size(); ++i) {
      const Node& n = source.nodes[source.outputs[i]];
      if (n.kind == Kind::variable) bare_ = true;
      const auto at = static_cast<std::size_t>(std::count_if(source.nodes.begin(), source.nodes.begin() + source.outputs[i],
                                                             [](const Node& m) { return m.kind != Kind::variable; }));
      const TensorRef old = bare_ ? match_.variables[n.variable] : made_by(match_.nodes[at], n.kind);
      const Wire now = target_.outputs[i];
      const pcg::ParallelShape& shape = now.fresh ? target_.nodes[now.node].outputs[static_cast<std::size_t>(now.output)]
                                                  : graph_.nodes()[now.node].outputs[static_cast<std::size_t>(now.output)];
      if (shape != graph_.shape(old))
        return refuse(fmt::format("the result would lie as {} instead of {}", to_text(shape), to_text(graph_.shape(old))));
      redirected_.emplace(old, now);
      first_output_ = std::min(first_output_, std::size_t{old.node.value});
    }
    return true;
  }

  // The half of a split that the rule does not speak of becomes a slice: the split goes.
  void keep_other_halves() {
    const Term& source = rule_.source();
    std::map<NodeId, std::set<int>> halves;  // of splits: what the rule speaks of
    std::size_t at = 0;
    for (const Node& n : source.nodes) {
      if (n.kind == Kind::variable) continue;
      const NodeId node = match_.nodes[at++];
      if (is_split(n.kind) && graph_.node(node).outputs.size() > 1) halves[node].insert(n.kind == Kind::split1 ? 1 : 0);
    }
    for (const auto& [id, spoken] : halves) {
      if (spoken.size() > 1) continue;
      const int other = 1 - *spoken.begin();
      const pcg::PcgNode& node = graph_.node(id);
      const auto& split = std::get<pcg::Split>(*node.operation());
      const TensorRef in = node.inputs[0];
      target_.nodes.push_back({.kind = other == 0 ? Kind::split0 : Kind::split1,
                               .op = pcg::Slice{split.axis, other == 0 ? 0 : split.sizes[0], split.sizes[static_cast<std::size_t>(other)]},
                               .inputs = {{false, in.node.value, in.output}},
                               .sharding = node.sharding,
                               .outputs = {node.outputs[static_cast<std::size_t>(other)]}});
      redirected_.emplace(TensorRef{id, other}, Wire{true, target_.nodes.size() - 1, 0});
    }
  }

  // What nobody reads any more, from the end: matched nodes, and what only they read where the target does without it.
  void find_gone() {
    std::vector<bool> needed(gone_.size()), matched(gone_.size());
    for (NodeId n : match_.nodes) matched[n.value] = true;
    for (const FreshNode& f : target_.nodes)
      for (const Wire& w : f.inputs)
        if (!w.fresh && !redirected_.contains({NodeId(w.node), w.output})) needed[w.node] = true;
    for (const auto& [old, now] : redirected_)
      if (!now.fresh && !redirected_.contains({NodeId(now.node), now.output})) needed[now.node] = true;
    for (std::size_t n = gone_.size(); n-- > 0;) {
      const bool lost = std::ranges::any_of(consumers_[n], [&](NodeId c) { return gone_[c.value]; });
      if (needed[n] || !(matched[n] || (lost && !graph_.nodes()[n].is_source()))) continue;
      gone_[n] = !is_read(NodeId(n));
    }
  }
  // By a node that stays, or as a result, apart from what is redirected.
  [[nodiscard]] bool is_read(NodeId n) const {
    for (int o = 0; o < static_cast<int>(graph_.node(n).outputs.size()); ++o) {
      const TensorRef output{n, o};
      if (redirected_.contains(output)) continue;
      bool result = true;
      for (NodeId c : consumers_[n.value]) {
        if (std::ranges::find(graph_.node(c).inputs, output) == graph_.node(c).inputs.end()) continue;
        result = false;
        if (!gone_[c.value]) return true;
      }
      if (result) return true;
    }
    return false;
  }

  // What every node that stays reads, old ones before fresh ones.
  bool find_inputs() {
    inputs_.resize(gone_.size() + target_.nodes.size());
    for (std::size_t n = 0; n < gone_.size(); ++n) {
      if (gone_[n]) continue;
      for (TensorRef t : graph_.nodes()[n].inputs)
        if (!add_input(n, {false, t.node.value, t.output})) return false;
    }
    for (std::size_t n = 0; n < target_.nodes.size(); ++n)
      for (const Wire& w : target_.nodes[n].inputs) {
        if (w.fresh || bare_) inputs_[gone_.size() + n].push_back(w);
        else if (!add_input(gone_.size() + n, w)) return false;
      }
    return true;
  }
  // A variable may be another output of the same rule.
  bool add_input(std::size_t reader, const Wire& w) {
    const std::optional<Wire> r = resolve({NodeId(w.node), w.output});
    if (!r) return refuse("outputs would become each other");
    if (!r->fresh && gone_[r->node]) return refuse("a tensor that is read goes");
    inputs_[reader].push_back(*r);
    return true;
  }
  [[nodiscard]] std::size_t index(const Wire& node) const { return node.fresh ? gone_.size() + node.node : node.node; }
  [[nodiscard]] bool stays(std::size_t i) const { return !joined_[i] && (i >= gone_.size() || !gone_[i]); }

  // A concat whose only reader is a concat along the same axis becomes part of that, unless the two stood so before.
  void join_concats() {
    joined_.resize(inputs_.size());
    std::vector<std::size_t> reads(inputs_.size()), reader(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      for (const Wire& w : inputs_[i]) {
        ++reads[index(w)];
        reader[index(w)] = i;
      }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (const auto axis = axis_joined(i); axis && reads[i] == 1 && !stood_before(i, reader[i]))
        joined_[i] = axis_joined(reader[i]) == axis;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (stays(i) && axis_joined(i)) inputs_[i] = with_joined(i);
  }
  [[nodiscard]] bool stood_before(std::size_t i, std::size_t reader) const {
    return i < gone_.size() && std::ranges::find(parts_, NodeId(i)) == parts_.end() && consumers_[i] == std::vector{NodeId(reader)};
  }
  // Nullopt: no concat.
  [[nodiscard]] std::optional<int> axis_joined(std::size_t i) const {
    const bool fresh = i >= gone_.size();
    const auto* op = fresh ? std::get_if<pcg::Operator>(&target_.nodes[i - gone_.size()].op) : graph_.nodes()[i].operation();
    const auto* concat = op ? std::get_if<pcg::Concat>(op) : nullptr;
    if (!concat) return std::nullopt;
    const auto& made = fresh ? target_.nodes[i - gone_.size()].outputs[0] : graph_.nodes()[i].outputs[0];
    return static_cast<int>(pcg::resolve_axis(concat->axis, made.dims.size()));
  }
  [[nodiscard]] std::vector<Wire> with_joined(std::size_t i) const {
    std::vector<Wire> all;
    for (const Wire& w : inputs_[i]) {
      if (!joined_[index(w)]) all.push_back(w);
      else std::ranges::copy(with_joined(index(w)), std::back_inserter(all));
    }
    return all;
  }

  // Fresh nodes lie in the earliest matched block, or where their inputs are if that is later.
  void find_blocks() {
    int earliest = bare_ ? graph_.nodes()[first_output_].block : graph_.node(match_.nodes[0]).block;
    for (NodeId n : match_.nodes) earliest = std::min(earliest, graph_.node(n).block);
    for (const FreshNode& n : target_.nodes) {
      int block = earliest;
      for (const Wire& w : n.inputs)
        if (w.fresh || !graph_.nodes()[w.node].is_source())
          block = std::max(block, w.fresh ? blocks_[w.node] : graph_.nodes()[w.node].block);
      blocks_.push_back(block);
    }
  }

  // A topological order that keeps the old one as far as it can; fresh nodes come as early as the first output that is replaced.
  bool order() {
    struct Place {
      int block;
      std::size_t key, fresh;
      Wire wire;
      bool operator>(const Place& o) const { return std::tie(block, key, fresh) > std::tie(o.block, o.key, o.fresh); }
    };
    const std::size_t old = graph_.nodes().size(), all = old + target_.nodes.size();
    std::vector<std::vector<std::size_t>> readers(all);
    std::vector<std::size_t> waits(all, 0);
    const auto place = [&](std::size_t i) {
      if (i < old) return Place{graph_.nodes()[i].block, i, 0, {false, i, 0}};
      return Place{blocks_[i - old], first_output_, 1 + i - old, {true, i - old, 0}};
    };
    std::size_t nodes = 0;
    for (std::size_t i = 0; i < all; ++i) {
      if (!stays(i)) continue;
      ++nodes;
      for (const Wire& w : inputs_[i]) {
        readers[index(w)].push_back(i);
        ++waits[i];
      }
    }
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    for (std::size_t i = 0; i < all; ++i)
      if (waits[i] == 0 && stays(i)) ready.push(place(i));
    int block = 0;
    while (!ready.empty()) {
      const Place p = ready.top();
      ready.pop();
      if (p.block < block) return refuse("operators of different blocks would have to change places");
      block = p.block;
      order_.push_back(p.wire);
      for (std::size_t r : readers[index(p.wire)])
        if (--waits[r] == 0) ready.push(place(r));
    }
    return order_.size() == nodes || refuse("the graph would have a cycle");
  }

  base::Attempt<NodeId> add_fresh(pcg::PcgBuilder& to, std::size_t node, const std::string& name, const std::vector<TensorRef>& in) const {
    const FreshNode& n = target_.nodes[node];
    if (const auto* op = std::get_if<pcg::Operator>(&n.op)) return to.try_add(name, *op, in, n.sharding, blocks_[node]);
    return to.try_add(name, std::get<pcg::ParallelOperator>(n.op), in[0], blocks_[node]);
  }
  base::Attempt<NodeId> add_old(pcg::PcgBuilder& to, std::size_t node, const std::vector<TensorRef>& in) const {
    const pcg::PcgNode& n = graph_.nodes()[node];
    if (n.operation()) return to.try_add(n.name, *n.operation(), in, n.sharding, n.block);
    return to.try_add(n.name, *n.movement(), in[0], n.block);
  }

  base::Attempt<Rewritten> build() {
    const std::vector<std::string> fresh = fresh_names(target_, match_, graph_, redirected_, gone_);
    pcg::PcgBuilder builder(graph_.name(), {graph_.blocks().begin(), graph_.blocks().end()});
    Rewritten r;
    r.renumbered.resize(gone_.size());
    r.fresh.resize(target_.nodes.size());
    const auto ref = [&](const Wire& w) { return TensorRef{w.fresh ? r.fresh[w.node] : *r.renumbered[w.node], w.output}; };
    for (const Wire& at : order_) {
      std::vector<TensorRef> in;
      for (const Wire& w : inputs_[index(at)]) in.push_back(ref(w));
      const base::Attempt<NodeId> made = at.fresh ? add_fresh(builder, at.node, fresh[at.node], in) : add_old(builder, at.node, in);
      if (!made) return made.refusal();
      if (at.fresh) r.fresh[at.node] = *made;
      else r.renumbered[at.node] = *made;
    }
    r.graph = std::move(builder).build();
    if (!keeps_results(r, ref)) return refusal_;
    for (std::size_t n = r.fresh.size(); n-- > 0;)
      if (joined_[gone_.size() + n]) r.fresh.erase(r.fresh.begin() + static_cast<std::ptrdiff_t>(n));
    return r;
  }

  template <class Ref>
  bool keeps_results(const Rewritten& r, const Ref& ref) {
    std::vector<TensorRef> expected;
    for (TensorRef t : graph_.results()) {
      const std::optional<Wire> w = resolve(t);
      if (!w) return refuse("outputs would become each other");
      if (!stays(index(*w))) return refuse("a result goes");
      expected.push_back(ref(*w));
    }
    return r.graph.results() == expected || refuse("the graph would have other results, or in another order");
  }

  const Rule& rule_;
  const Match& match_;
  const pcg::Pcg& graph_;
  std::vector<std::vector<NodeId>> consumers_;
  std::span<const NodeId> parts_;
  Target target_;
  std::map<TensorRef, Wire> redirected_;  // outputs of the occurrence -> what takes their place
  bool bare_ = false;                     // the source is a variable alone: only others read its target
  std::size_t first_output_ = static_cast<std::size_t>(-1);
  std::vector<bool> gone_;                 // by old node
  std::vector<std::vector<Wire>> inputs_;  // by old node, then by fresh node
  std::vector<bool> joined_;               // the same: a concat that became part of another
  std::vector<int> blocks_;                // by fresh node
  std::vector<Wire> order_;                // nodes
  base::Refusal refusal_;
};

// A rewrite of a regrouped graph as one of the graph before.
Rewritten from_old(Rewritten r, const std::vector<NodeId>& regrouped) {
  std::vector<std::optional<NodeId>> renumbered;
  std::vector<bool> was_there(r.graph.nodes().size());
  for (NodeId n : regrouped) {
    renumbered.push_back(r.renumbered[n.value]);
    if (renumbered.back()) was_there[renumbered.back()->value] = true;
  }
  r.renumbered = std::move(renumbered);
  r.fresh.clear();
  for (std::size_t n = 0; n < was_there.size(); ++n)
    if (!was_there[n]) r.fresh.emplace_back(n);
  return r;
}

base::Attempt<Rewritten> apply_here(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts,
                                    std::span<const int> degrees) {
  std::array<int, 2> bound{};
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (i < match.degrees.size()) bound[i] = match.degrees[i];
    if (bound[i] == 0 && i < degrees.size()) bound[i] = degrees[i];
  }
  base::Attempt<Target> target = instantiate(rule, match, graph, bound);
  if (!target) return target.refusal();
  return Rewrite(rule, match, graph, parts, std::move(*target)).run();
}

}  // namespace

base::Attempt<Rewritten> apply(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const int> degrees) {
  if (match.views.empty()) return apply_here(rule, match, graph, {}, degrees);
  const Regrouped regrouped = regroup(graph, match, rule);
  base::Attempt<Rewritten> r = apply_here(rule, regrouped.match, regrouped.graph, regrouped.parts, degrees);
  if (!r) return r;
  return from_old(std::move(*r), regrouped.renumbered);
}

}  // namespace substitutions
