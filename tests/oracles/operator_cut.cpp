#include "tests/oracles/operator_cut.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "search/rules/rewriting/replace.hpp"

namespace rules {
namespace {

using pcg::IterationSpace;
using pcg::NodeId;
using pcg::ParallelOperator;
using pcg::ParallelShape;
using pcg::PcgNode;
using pcg::TensorRef;
using pcg::TensorShape;

// The dim that a loop indexes; nullopt: it indexes none. No loop indexes two dims of one tensor.
std::optional<int> dim_of_loop(const std::vector<int>& dims, int loop) {
  const auto it = std::ranges::find(dims, loop);
  return it == dims.end() ? std::nullopt : std::optional(static_cast<int>(it - dims.begin()));
}

// A movement of an equation, and the side on which it stands.
struct Movement {
  ParallelOperator op;
  bool on_left = false;
};
Movement movement_of_input(const IterationSpace& space, std::size_t i, const OperatorCut& cut, int degree) {
  if (cut.loop == kSums && (cut.through < 0 || cut.through == static_cast<int>(i))) return {pcg::Reduce{degree}, true};
  if (const auto dim = cut.loop < 0 ? std::nullopt : dim_of_loop(space.inputs[i], cut.loop)) return {pcg::Partition{*dim, degree}};
  return {pcg::Replicate{degree}};
}
Movement movement_of_output(const IterationSpace& space, std::size_t j, const OperatorCut& cut, int degree) {
  if (cut.loop == kCopies) return {pcg::Replicate{degree}, true};
  if (cut.loop == kSums) return {pcg::Reduce{degree}};
  if (const auto dim = dim_of_loop(space.outputs[j], cut.loop)) return {pcg::Combine{*dim, degree}};
  if (space.loops[static_cast<std::size_t>(cut.loop)].cut == pcg::Cut::sum) return {pcg::Reduce{degree}};
  return {pcg::Discard{degree}};
}
// Whether a movement is there, and goes; the others are made.
bool stands(const Movement& m, const OperatorCut& cut) { return m.on_left != cut.joins; }

int& degree_of(pcg::Sharding& s, int loop) {
  return loop == kCopies ? s.copies : loop == kSums ? s.sums : s.degrees[static_cast<std::size_t>(loop)];
}

// --- occurrences ------------------------------------------------------------------------------------------------------------

// What every further degree of the loop has to divide.
std::int64_t common_block(const pcg::Pcg& graph, NodeId id, int loop) {
  const PcgNode& node = graph.node(id);
  const auto l = static_cast<std::size_t>(loop);
  std::int64_t block = node.space->loops[l].size / node.sharding.degrees[l];
  const auto add = [&](const std::vector<int>& dims, const ParallelShape& shape) {
    if (const auto d = dim_of_loop(dims, loop)) block = std::gcd(block, shape.shard().sizes[static_cast<std::size_t>(*d)]);
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(node.space->inputs[i], graph.shape(node.inputs[i]));
  for (std::size_t j = 0; j < node.outputs.size(); ++j) add(node.space->outputs[j], node.outputs[j]);
  return block;
}
std::int64_t least_divisor(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return d;
  return n;
}

bool can_be_cut(const pcg::Pcg& graph, NodeId id, int loop) {
  const PcgNode& node = graph.node(id);
  const std::int64_t degree = least_divisor(common_block(graph, id, loop));
  if (degree < 2 || degree > pcg::kMostShards) return false;
  pcg::Sharding more = node.sharding;
  more.degrees[static_cast<std::size_t>(loop)] *= static_cast<int>(degree);
  return !violation(*node.space, more, graph.whole_inputs(id), graph.whole_outputs(id));
}

int degree_of_movement(const PcgNode& node) {
  const ParallelOperator* op = node.parallel_operator();
  return op ? std::visit(
                  [](const auto& o) {
                    if constexpr (requires { o.degree; }) return o.degree;
                    else return 0;
                  },
                  *op)
            : 0;
}

// The one degree of all movements of the side that stands in the graph; nobody but them reads the outputs. 0: the side does not stand.
int degree_of_side(const pcg::Pcg& graph, const std::vector<NodeId>& readers, const OperatorCut& cut) {
  const PcgNode& node = graph.node(cut.node);
  int degree = 0;
  const auto is = [&](const PcgNode& there, const auto& movement) {
    if (degree == 0) degree = degree_of_movement(there);
    return degree > 1 && there.parallel_operator() && *there.parallel_operator() == movement(degree).op;
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto movement = [&](int d) { return movement_of_input(*node.space, i, cut, d); };
    if (stands(movement(2), cut) && !is(graph.node(node.inputs[i].node), movement)) return 0;
  }
  if (!stands(movement_of_output(*node.space, 0, cut, 2), cut)) return degree;
  if (readers.size() != node.outputs.size()) return 0;
  std::vector<bool> moved(node.outputs.size());
  for (const NodeId r : readers) {
    const auto j = static_cast<std::size_t>(graph.node(r).inputs[0].output);
    if (moved[j] || !is(graph.node(r), [&](int d) { return movement_of_output(*node.space, j, cut, d); })) return 0;
    moved[j] = true;
  }
  return degree;
}

class Occurrences {
 public:
  explicit Occurrences(const pcg::Pcg& graph) : graph_(graph), readers_(graph.consumers()) {
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n)
      if (graph.nodes()[n].computes()) add(NodeId(n));
  }
  std::vector<OperatorCut> all;

 private:
  void add(NodeId id) {
    const IterationSpace& space = *graph_.node(id).space;
    for (int loop = 0; loop < static_cast<int>(space.loops.size()); ++loop) {
      if (can_be_cut(graph_, id, loop)) all.push_back({.node = id, .loop = loop});
      add_side({.node = id, .loop = loop, .joins = true});
    }
    add_sides({.node = id, .loop = kCopies});
    if (!space.parts.empty()) return;  // each summand is an input's: none passes
    if (space.linear) add_sides({.node = id, .loop = kSums});
    for (std::size_t i = 0; i < space.alone.size(); ++i)
      if (space.alone[i] != pcg::Passing::no) add_sides({.node = id, .loop = kSums, .through = static_cast<int>(i)});
  }
  void add_sides(OperatorCut cut) {
    add_side(cut);
    cut.joins = true;
    add_side(cut);
  }
  void add_side(OperatorCut cut) {
    pcg::Sharding sharding = graph_.node(cut.node).sharding;
    if (cut.loop == kSums && sharding.sums > 1 && sharding.through != cut.through) return;
    cut.degree = degree_of_side(graph_, readers_[cut.node.value], cut);
    if (cut.degree > 1 && (!cut.joins || degree_of(sharding, cut.loop) % cut.degree == 0)) all.push_back(cut);
  }

  const pcg::Pcg& graph_;
  std::vector<std::vector<NodeId>> readers_;
};

// --- rewriting --------------------------------------------------------------------------------------------------------------

// The right side of an equation in the place of the left one, or the other way round.
class CutRewrite {
 public:
  CutRewrite(const OperatorCut& cut, const pcg::Pcg& graph, int degree)
      : cut_(cut), graph_(graph), node_(graph.node(cut.node)), degree_(degree), sharding_(node_.sharding) {
    match_.nodes = {cut.node};
  }

  base::Attempt<Rewritten> run() {
    int& degree = degree_of(sharding_, cut_.loop);
    if (!cut_.joins && degree_ > pcg::kMostShards / degree) return base::Refusal{fmt::format("more than {} shards", pcg::kMostShards)};
    degree = cut_.joins ? degree / degree_ : degree * degree_;
    if (cut_.loop == kSums) sharding_.through = sharding_.sums > 1 ? cut_.through : -1;
    wholes_ = graph_.whole_inputs(cut_.node);
    if (auto why = violation(*node_.space, sharding_, wholes_, graph_.whole_outputs(cut_.node)))
      return base::Refusal{fmt::format("{}: {}", node_.name, *why)};
    if (auto r = compute()) return *r;
    const bool moved = stands(movement_of_output(*node_.space, 0, cut_, degree_), cut_);
    if (auto r = moved ? take_moved_outputs() : move_outputs()) return *r;
    return replace(match_, graph_, {}, target_, redirections_);
  }

 private:
  using Refused = std::optional<base::Refusal>;

  static Wire wire_of(TensorRef t) { return {false, t.node.value, t.output}; }
  [[nodiscard]] const ParallelShape& shape(const Wire& w) const {
    const auto o = static_cast<std::size_t>(w.output);
    return w.fresh ? target_.nodes[w.node].outputs[o] : graph_.nodes()[w.node].outputs[o];
  }

  // The operator on its inputs moved, or on what they were before.
  Refused compute() {
    const IterationSpace& space = *node_.space;
    FreshNode made{.op = *node_.operation(), .inputs = {}, .sharding = sharding_, .outputs = {}};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const TensorRef t = node_.inputs[i];
      const Movement m = movement_of_input(space, i, cut_, degree_);
      if (stands(m, cut_)) moved_ = wire_of(graph_.node(t.node).inputs[0]);
      else if (auto r = move(m.op, wire_of(t))) return r;
      if (const ParallelShape wanted = input_shape(space, sharding_, i, wholes_[i]); shape(moved_) != wanted)
        return base::Refusal{fmt::format("{} cannot read {} as {}", node_.name, to_text(shape(moved_)), to_text(wanted))};
      made.inputs.push_back(moved_);
    }
    for (std::size_t j = 0; j < node_.outputs.size(); ++j)
      made.outputs.push_back(output_shape(space, sharding_, j, node_.outputs[j].whole()));
    made_ = target_.nodes.size();
    target_.nodes.push_back(std::move(made));
    return std::nullopt;
  }
  Refused move_outputs() {
    for (std::size_t j = 0; j < node_.outputs.size(); ++j) {
      const auto output = static_cast<int>(j);
      if (auto r = move(movement_of_output(*node_.space, j, cut_, degree_).op, {true, made_, output})) return r;
      if (auto r = redirect_to({cut_.node, output}, moved_)) return r;
    }
    return std::nullopt;
  }
  Refused take_moved_outputs() {
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      const PcgNode& reader = graph_.nodes()[n];
      if (reader.inputs.empty() || reader.inputs[0].node != cut_.node) continue;
      match_.nodes.emplace_back(n);
      if (auto r = redirect_to({NodeId(n), 0}, {true, made_, reader.inputs[0].output})) return r;
    }
    return std::nullopt;
  }

  // Equal movements of one tensor are one node.
  Refused move(const ParallelOperator& op, const Wire& from) {
    for (std::size_t n = 0; n < target_.nodes.size(); ++n) {
      const auto* same = std::get_if<ParallelOperator>(&target_.nodes[n].op);
      if (!same || *same != op || target_.nodes[n].inputs[0] != from) continue;
      moved_ = {true, n, 0};
      return std::nullopt;
    }
    base::Attempt<ParallelShape> out = pcg::try_apply(op, shape(from));
    if (!out) return out.refusal();
    target_.nodes.push_back({.op = op, .inputs = {from}, .sharding = {}, .outputs = {std::move(*out)}});
    moved_ = {true, target_.nodes.size() - 1, 0};
    return std::nullopt;
  }

  Refused redirect_to(TensorRef old, const Wire& now) {
    if (shape(now) != graph_.shape(old))
      return base::Refusal{fmt::format("the result would lie as {} instead of {}", to_text(shape(now)), to_text(graph_.shape(old)))};
    redirections_.now.emplace(old, now);
    redirections_.first_output = std::min(redirections_.first_output, std::size_t{old.node.value});
    return std::nullopt;
  }

  const OperatorCut& cut_;
  const pcg::Pcg& graph_;
  const PcgNode& node_;
  int degree_;
  pcg::Sharding sharding_;
  std::vector<TensorShape> wholes_;
  Match match_;
  Target target_;
  Redirections redirections_;
  Wire moved_;            // by the last movement, or before it
  std::size_t made_ = 0;  // the operator, of the target
};

}  // namespace

std::vector<OperatorCut> operator_cuts(const pcg::Pcg& graph) { return std::move(Occurrences(graph).all); }

base::Attempt<Rewritten> apply(const OperatorCut& cut, const pcg::Pcg& graph, int degree) {
  const int chosen = cut.degree == 0 ? degree : cut.degree;
  if (chosen < 2) return base::Refusal{"the degree is not given"};
  return CutRewrite(cut, graph, chosen).run();
}

}  // namespace rules
