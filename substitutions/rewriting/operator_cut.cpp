#include "substitutions/rewriting/operator_cut.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "substitutions/rewriting/replace.hpp"

namespace substitutions {
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

ParallelOperator cut_of_input(const IterationSpace& space, std::size_t i, int loop, int degree) {
  if (const auto dim = loop == kCopies ? std::nullopt : dim_of_loop(space.inputs[i], loop)) return pcg::Partition{*dim, degree};
  return pcg::Replicate{degree};
}
// What stands behind output j: of the operator that is cut, or, of copies, of the one that is not.
ParallelOperator movement_of_output(const IterationSpace& space, std::size_t j, int loop, int degree) {
  if (loop == kCopies) return pcg::Replicate{degree};
  if (const auto dim = dim_of_loop(space.outputs[j], loop)) return pcg::Combine{*dim, degree};
  if (space.loops[static_cast<std::size_t>(loop)].cut == pcg::Cut::sum) return pcg::Reduce{degree};
  return pcg::Discard{degree};
}
int& degree_of(pcg::Sharding& s, int loop) { return loop == kCopies ? s.copies : s.degrees[static_cast<std::size_t>(loop)]; }

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

// The one degree by which all inputs are cut for a loop; 0: they are not.
int degree_of_inputs(const pcg::Pcg& graph, const PcgNode& node, int loop) {
  const int degree = node.inputs.empty() ? 0 : degree_of_movement(graph.node(node.inputs[0].node));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ParallelOperator* op = graph.node(node.inputs[i].node).parallel_operator();
    if (!op || *op != cut_of_input(*node.space, i, loop, degree)) return 0;
  }
  return degree;
}
// The one degree by which every output is moved for a loop, by its only reader; 0: they are not.
int degree_of_outputs(const pcg::Pcg& graph, const std::vector<NodeId>& readers, const PcgNode& node, int loop) {
  if (readers.size() != node.outputs.size()) return 0;
  const int degree = degree_of_movement(graph.node(readers[0]));
  std::vector<bool> moved(node.outputs.size());
  for (const NodeId r : readers) {
    const PcgNode& reader = graph.node(r);
    const auto j = static_cast<std::size_t>(reader.inputs[0].output);
    if (!reader.parallel_operator() || moved[j] || *reader.parallel_operator() != movement_of_output(*node.space, j, loop, degree))
      return 0;
    moved[j] = true;
  }
  return degree;
}

void add_cuts(const pcg::Pcg& graph, const std::vector<std::vector<NodeId>>& readers, NodeId id, std::vector<OperatorCut>& to) {
  const PcgNode& node = graph.node(id);
  if (!node.computes()) return;
  pcg::Sharding sharding = node.sharding;
  for (int loop = 0; loop < static_cast<int>(node.space->loops.size()); ++loop) {
    if (can_be_cut(graph, id, loop)) to.push_back({.node = id, .loop = loop});
    const int degree = degree_of_inputs(graph, node, loop);
    if (degree > 1 && degree_of(sharding, loop) % degree == 0 && degree_of_outputs(graph, readers[id.value], node, loop) == degree)
      to.push_back({.node = id, .loop = loop, .joins = true, .degree = degree});
  }
  if (const int degree = degree_of_outputs(graph, readers[id.value], node, kCopies); degree > 1)
    to.push_back({.node = id, .loop = kCopies, .degree = degree});
  if (const int degree = degree_of_inputs(graph, node, kCopies); degree > 1 && sharding.copies % degree == 0)
    to.push_back({.node = id, .loop = kCopies, .joins = true, .degree = degree});
}

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
    degree = cut_.joins ? degree / degree_ : degree * degree_;
    wholes_ = graph_.whole_inputs(cut_.node);
    if (auto why = violation(*node_.space, sharding_, wholes_, graph_.whole_outputs(cut_.node)))
      return base::Refusal{fmt::format("{}: {}", node_.name, *why)};
    if (auto r = compute()) return *r;
    if (auto r = cut_.joins == (cut_.loop == kCopies) ? move_outputs() : take_moved_outputs()) return *r;
    return replace(match_, graph_, {}, target_, redirections_);
  }

 private:
  using Refused = std::optional<base::Refusal>;

  static Wire wire_of(TensorRef t) { return {false, t.node.value, t.output}; }
  [[nodiscard]] const ParallelShape& shape(const Wire& w) const {
    const auto o = static_cast<std::size_t>(w.output);
    return w.fresh ? target_.nodes[w.node].outputs[o] : graph_.nodes()[w.node].outputs[o];
  }

  // The operator on its inputs cut, or on what they were before.
  Refused compute() {
    const IterationSpace& space = *node_.space;
    FreshNode made{.op = *node_.operation(), .inputs = {}, .sharding = sharding_, .outputs = {}};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const TensorRef t = node_.inputs[i];
      if (cut_.joins) moved_ = wire_of(graph_.node(t.node).inputs[0]);
      else if (auto r = move(cut_of_input(space, i, cut_.loop, degree_), wire_of(t))) return r;
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
      if (auto r = move(movement_of_output(*node_.space, j, cut_.loop, degree_), {true, made_, output})) return r;
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

std::vector<OperatorCut> operator_cuts(const pcg::Pcg& graph) {
  std::vector<OperatorCut> all;
  const auto readers = graph.consumers();
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) add_cuts(graph, readers, NodeId(n), all);
  return all;
}

base::Attempt<Rewritten> apply(const OperatorCut& cut, const pcg::Pcg& graph, int degree) {
  const int chosen = cut.degree == 0 ? degree : cut.degree;
  if (chosen < 2) return base::Refusal{"the degree is not given"};
  return CutRewrite(cut, graph, chosen).run();
}

}  // namespace substitutions
