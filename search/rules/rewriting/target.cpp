#include "search/rules/rewriting/target.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <ranges>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/sharding.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;
using pcg::TensorShape;

// Every step says whether it went well; the first one that did not has left its reason.
struct Made {
  Wire wire;
  double scalar = 1;  // of a number
};

struct Instantiation {
  const Rule& rule;
  const Term& term;
  const Match& match;
  const pcg::Pcg& graph;
  std::array<int, 2> degrees;
  FreeAttributes free;
  std::vector<Made> made;
  Target target;
  base::Refusal refusal;
};

bool refuse(Instantiation& t, std::string reason) {
  t.refusal.why = std::move(reason);
  return false;
}

bool ranks_fit(Instantiation& t) {
  const std::vector<Variable>& variables = t.rule.equation.variables();
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::size_t rank = variables[v].types[0].rank;
    if (rank == 0 || !uses(t.rule.source(), v)) continue;
    if (t.graph.shape(t.match.variables[v]).dims.size() < rank) return refuse(t, "a tensor has fewer dims than the rule asks for");
  }
  return true;
}

bool add_variable(Instantiation& t, const Node& node) {
  const pcg::TensorRef tensor = t.match.variables[node.variable];
  Made& m = t.made.emplace_back(Made{{false, tensor.node.value, tensor.output}});
  if (t.rule.equation.variables()[node.variable].types[0].rank == 0)
    m.scalar = std::get<pcg::Unary>(*t.graph.node(tensor.node).operation()).factor;
  return true;
}

// In the rule; 0: a number.
std::uint8_t rank_of(const Instantiation& t, std::size_t n) { return t.rule.target_types()[n][0].rank; }

bool add_scalar(Instantiation& t, const Node& node) {
  if (node.kind != Kind::add && node.kind != Kind::multiply) return refuse(t, "numbers can be added and multiplied only");
  const double a = t.made[node.inputs[0]].scalar, b = t.made[node.inputs[1]].scalar;
  t.made.push_back({{}, node.kind == Kind::add ? a + b : a * b});
  return true;
}

pcg::ParallelOperator movement(const Instantiation& t, const Node& node, int degree, std::size_t rule_rank, std::size_t rank) {
  const int dim = has_axis(node.kind) ? static_cast<int>(dim_in_graph(node.axis, rule_rank, rank, t.match.row)) : 0;
  switch (node.kind) {
    case Kind::partition: return pcg::Partition{dim, degree};
    case Kind::combine: return pcg::Combine{dim, degree};
    case Kind::replicate: return pcg::Replicate{degree};
    default: return pcg::Reduce{degree};
  }
}

const ParallelShape& shape(const Instantiation& t, const Wire& w) {
  const auto o = static_cast<std::size_t>(w.output);
  return w.fresh ? t.target.nodes[w.node].outputs[o] : t.graph.nodes()[w.node].outputs[o];
}

const ParallelShape& shape(const Instantiation& t, std::uint8_t n) { return shape(t, t.made[n].wire); }

void append(Instantiation& t, FreshNode n) {
  t.target.nodes.push_back(std::move(n));
  t.made.push_back({{true, t.target.nodes.size() - 1, 0}});
}

bool add_movement(Instantiation& t, const Node& node) {
  const Wire in = t.made[node.inputs[0]].wire;
  const std::optional<int> degree = degree_at(node.degree, t.degrees);
  if (!degree || *degree < 2) return refuse(t, fmt::format("{}: its degree is not given", name_of(node.kind)));
  const pcg::ParallelOperator op = movement(t, node, *degree, rank_of(t, node.inputs[0]), shape(t, in).dims.size());
  base::Attempt<ParallelShape> out = pcg::try_apply(op, shape(t, in));
  if (!out) return refuse(t, out.refusal().why);
  append(t, {op, {in}, {}, {std::move(*out)}});
  return true;
}

bool compute(Instantiation& t, const Node& node, pcg::Operator op) {
  std::vector<Wire> inputs;
  std::vector<ParallelShape> shapes;
  std::vector<TensorShape> wholes;
  for (std::uint8_t i : node.inputs) {
    if (rank_of(t, i) == 0) continue;
    inputs.push_back(t.made[i].wire);
    shapes.push_back(shape(t, i));
    wholes.push_back(shapes.back().whole());
  }
  const base::Attempt<std::vector<TensorShape>> outputs = pcg::try_infer_shapes(op, wholes);
  if (!outputs) return refuse(t, outputs.refusal().why);
  const pcg::IterationSpace space = pcg::iteration_space(op, wholes);
  const std::optional<pcg::Sharding> sharding = pcg::infer_sharding(space, shapes);
  if (!sharding) {
    const auto layouts = std::views::transform(shapes, [](const ParallelShape& s) { return pcg::to_text(s); });
    return refuse(t, fmt::format("{} cannot read {}", name_of(node.kind), fmt::join(layouts, ", ")));
  }
  if (auto v = pcg::violation(space, *sharding, wholes, *outputs)) return refuse(t, fmt::format("{}: {}", name_of(node.kind), *v));
  std::vector<ParallelShape> made;
  for (std::size_t j = 0; j < outputs->size(); ++j) made.push_back(pcg::output_shape(space, *sharding, j, (*outputs)[j]));
  append(t, {std::move(op), std::move(inputs), *sharding, std::move(made)});
  return true;
}

// Halves of one split share a node; a half that is not read is not made.
bool add_split(Instantiation& t, std::size_t n) {
  const Node& node = t.term.nodes[n];
  const std::optional<std::size_t> other = other_half(t.term, n);
  if (other && *other < n) {
    t.made.push_back({{true, t.made[*other].wire.node, node.kind == Kind::split1 ? 1 : 0}});
    return true;
  }
  const ParallelShape& in = shape(t, node.inputs[0]);
  const auto dim = static_cast<int>(dim_in_graph(node.axis, rank_of(t, node.inputs[0]), in.dims.size(), t.match.row));
  const std::optional<std::int64_t> at = size_of(t.match.sizes, node.at);
  if (!at) return refuse(t, "a size is not known from the source");
  const std::int64_t whole = in.dims[static_cast<std::size_t>(dim)].size;
  const bool second = node.kind == Kind::split1;
  if (!other) return compute(t, node, pcg::Slice{.axis = dim, .begin = second ? *at : 0, .length = second ? whole - *at : *at});
  if (!compute(t, node, pcg::Split{.axis = dim, .sizes = {*at, whole - *at}})) return false;
  t.made.back().wire.output = second ? 1 : 0;
  return true;
}

std::vector<TargetInput> inputs_of(const Instantiation& t, const Node& node) {
  std::vector<TargetInput> inputs;
  for (const std::uint8_t i : node.inputs)
    inputs.push_back({&t.rule.target_types()[i][0], rank_of(t, i) == 0 ? nullptr : &shape(t, i), t.made[i].scalar});
  return inputs;
}

bool add(Instantiation& t, std::size_t n) {
  const Node& node = t.term.nodes[n];
  if (node.kind == Kind::variable) return add_variable(t, node);
  if (node.inputs.empty()) return refuse(t, fmt::format("{} is no operator of a graph", name_of(node.kind)));
  if (rank_of(t, n) == 0) return add_scalar(t, node);
  if (is_movement(node.kind)) return add_movement(t, node);
  if (is_split(node.kind)) return add_split(t, n);
  base::Attempt<pcg::Operator> op = target_operator(node, inputs_of(t, node), t.free, t.match.row);
  return op ? compute(t, node, std::move(*op)) : refuse(t, op.refusal().why);
}

}  // namespace

base::Attempt<Target> instantiate(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees) {
  Instantiation t{.rule = rule, .term = rule.target(), .match = match, .graph = graph, .degrees = degrees};
  if (!ranks_fit(t)) return t.refusal;
  t.free = free_attributes(t.rule, t.match, t.graph);
  for (std::size_t n = 0; n < t.term.nodes.size(); ++n)
    if (!add(t, n)) return t.refusal;
  for (std::uint8_t o : t.term.outputs) t.target.outputs.push_back(t.made[o].wire);
  return std::move(t.target);
}

}  // namespace rules
