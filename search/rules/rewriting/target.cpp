#include "search/rules/rewriting/target.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/sharding.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;
using pcg::TensorShape;

// Every step says whether it went well; the first one that did not has left its reason.
class Instantiation {
 public:
  Instantiation(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees)
      : rule_(rule), term_(rule.target()), match_(match), graph_(graph), degrees_(degrees) {}

  base::Attempt<Target> run() {
    if (!ranks_fit()) return refusal_;
    free_ = free_attributes(rule_, match_, graph_);
    for (std::size_t n = 0; n < term_.nodes.size(); ++n)
      if (!add(n)) return refusal_;
    for (std::uint8_t o : term_.outputs) target_.outputs.push_back(made_[o].wire);
    return std::move(target_);
  }

 private:
  struct Made {
    Wire wire;
    double scalar = 1;  // of a number
  };

  bool refuse(std::string reason) {
    refusal_.why = std::move(reason);
    return false;
  }

  bool ranks_fit() {
    const std::vector<Variable>& variables = rule_.equation.variables();
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const Type& t = variables[v].types[0];
      if (t.rank == 0 || !uses(rule_.source(), v)) continue;
      if (graph_.shape(match_.variables[v]).dims.size() < t.rank) return refuse("a tensor has fewer dims than the rule asks for");
    }
    return true;
  }

  // In the rule; 0: a number.
  [[nodiscard]] std::uint8_t rank_of(std::size_t n) const { return rule_.target_types()[n][0].rank; }

  [[nodiscard]] const ParallelShape& shape(const Wire& w) const {
    const auto o = static_cast<std::size_t>(w.output);
    return w.fresh ? target_.nodes[w.node].outputs[o] : graph_.nodes()[w.node].outputs[o];
  }
  [[nodiscard]] const ParallelShape& shape(std::uint8_t n) const { return shape(made_[n].wire); }

  bool add(std::size_t n) {
    const Node& node = term_.nodes[n];
    if (node.kind == Kind::variable) return add_variable(node);
    if (node.inputs.empty()) return refuse(fmt::format("{} is no operator of a graph", name_of(node.kind)));
    if (rank_of(n) == 0) return add_scalar(node);
    if (is_movement(node.kind)) return add_movement(node);
    if (is_split(node.kind)) return add_split(n);
    base::Attempt<pcg::Operator> op = target_operator(node, inputs_of(node), free_, match_.row);
    return op ? compute(node.kind, std::move(*op), node) : refuse(op.refusal().why);
  }

  bool add_variable(const Node& node) {
    const pcg::TensorRef t = match_.variables[node.variable];
    Made& m = made_.emplace_back(Made{{false, t.node.value, t.output}});
    if (rule_.equation.variables()[node.variable].types[0].rank == 0)
      m.scalar = std::get<pcg::Unary>(*graph_.node(t.node).operation()).factor;
    return true;
  }
  bool add_scalar(const Node& node) {
    if (node.kind != Kind::add && node.kind != Kind::multiply) return refuse("numbers can be added and multiplied only");
    const double a = made_[node.inputs[0]].scalar, b = made_[node.inputs[1]].scalar;
    made_.push_back({{}, node.kind == Kind::add ? a + b : a * b});
    return true;
  }
  bool add_movement(const Node& node) {
    const Wire in = made_[node.inputs[0]].wire;
    const std::optional<int> degree = degree_at(node.degree, degrees_);
    if (!degree || *degree < 2) return refuse(fmt::format("{}: its degree is not given", name_of(node.kind)));
    const pcg::ParallelOperator op = movement(node, *degree, rank_of(node.inputs[0]), shape(in).dims.size());
    base::Attempt<ParallelShape> out = pcg::try_apply(op, shape(in));
    if (!out) return refuse(out.refusal().why);
    append(node.kind, op, {in}, {}, {std::move(*out)});
    return true;
  }

  void append(Kind kind, std::variant<pcg::Operator, pcg::ParallelOperator> op, std::vector<Wire> inputs, pcg::Sharding sharding,
              std::vector<ParallelShape> outputs) {
    target_.nodes.push_back({kind, std::move(op), std::move(inputs), std::move(sharding), std::move(outputs)});
    made_.push_back({{true, target_.nodes.size() - 1, 0}});
  }
  bool compute(Kind kind, pcg::Operator op, const Node& node) {
    std::vector<Wire> inputs;
    std::vector<ParallelShape> shapes;
    std::vector<TensorShape> wholes;
    for (std::uint8_t i : node.inputs) {
      if (rank_of(i) == 0) continue;
      inputs.push_back(made_[i].wire);
      shapes.push_back(shape(i));
      wholes.push_back(shapes.back().whole());
    }
    const base::Attempt<std::vector<TensorShape>> outputs = pcg::try_infer_shapes(op, wholes);
    if (!outputs) return refuse(outputs.refusal().why);
    const pcg::IterationSpace space = pcg::iteration_space(op, wholes);
    const std::optional<pcg::Sharding> sharding = pcg::infer_sharding(space, shapes);
    if (!sharding) return refuse(fmt::format("{} cannot read {}", name_of(kind), layouts_text(shapes)));
    if (auto v = pcg::violation(space, *sharding, wholes, *outputs)) return refuse(fmt::format("{}: {}", name_of(kind), *v));
    std::vector<ParallelShape> made;
    for (std::size_t j = 0; j < outputs->size(); ++j) made.push_back(pcg::output_shape(space, *sharding, j, (*outputs)[j]));
    append(kind, std::move(op), std::move(inputs), *sharding, std::move(made));
    return true;
  }
  static std::string layouts_text(const std::vector<ParallelShape>& shapes) {
    std::string text;
    for (const ParallelShape& s : shapes) text += fmt::format("{}{}", text.empty() ? "" : ", ", pcg::to_text(s));
    return text;
  }

  // Halves of one split share a node; a half that nobody wants is not made.
  bool add_split(std::size_t n) {
    const Node& node = term_.nodes[n];
    bool other = false;
    for (std::size_t m = 0; m < term_.nodes.size(); ++m) {
      const Node& half = term_.nodes[m];
      if (m == n || !is_split(half.kind) || half.kind == node.kind) continue;
      if (half.inputs != node.inputs || half.axis != node.axis || half.at != node.at) continue;
      other = true;
      if (m > n) continue;
      made_.push_back({{true, made_[m].wire.node, node.kind == Kind::split1 ? 1 : 0}});
      return true;
    }
    const ParallelShape& in = shape(node.inputs[0]);
    const auto dim = static_cast<int>(dim_in_graph(node.axis, rank_of(node.inputs[0]), in.dims.size(), match_.row));
    const std::optional<std::int64_t> at = size_of(match_.sizes, size_text(node.at));
    if (!at) return refuse("a size is not known from the source");
    const std::int64_t whole = in.dims[static_cast<std::size_t>(dim)].size;
    const bool second = node.kind == Kind::split1;
    if (!other) return compute(node.kind, pcg::Slice{.axis = dim, .begin = second ? *at : 0, .length = second ? whole - *at : *at}, node);
    if (!compute(node.kind, pcg::Split{.axis = dim, .sizes = {*at, whole - *at}}, node)) return false;
    made_.back().wire.output = second ? 1 : 0;
    return true;
  }

  [[nodiscard]] pcg::ParallelOperator movement(const Node& node, int degree, std::size_t rule_rank, std::size_t rank) const {
    const int dim = has_axis(node.kind) ? static_cast<int>(dim_in_graph(node.axis, rule_rank, rank, match_.row)) : 0;
    switch (node.kind) {
      case Kind::partition: return pcg::Partition{dim, degree};
      case Kind::combine: return pcg::Combine{dim, degree};
      case Kind::replicate: return pcg::Replicate{degree};
      default: return pcg::Reduce{degree};
    }
  }

  [[nodiscard]] std::vector<TargetInput> inputs_of(const Node& node) const {
    std::vector<TargetInput> inputs;
    for (const std::uint8_t i : node.inputs)
      inputs.push_back({&rule_.target_types()[i][0], rank_of(i) == 0 ? nullptr : &shape(i), made_[i].scalar});
    return inputs;
  }

  const Rule& rule_;
  const Term& term_;
  const Match& match_;
  const pcg::Pcg& graph_;
  std::array<int, 2> degrees_;
  FreeAttributes free_;
  std::vector<Made> made_;
  Target target_;
  base::Refusal refusal_;
};

}  // namespace

base::Attempt<Target> instantiate(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees) {
  return Instantiation(rule, match, graph, degrees).run();
}

}  // namespace rules
