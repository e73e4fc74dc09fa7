#include "search/rules/rewriting/target.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <ranges>

#include "base/check.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/sharding.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {
namespace {

using pcg::Operator;
using pcg::ParallelShape;
using pcg::TensorShape;
using Outcome = base::Attempt<Operator>;

// A kernel of 3 x 3 stands for any.
bool is_any_kernel(const Type& w) { return w.size[2] == 3 && w.size[3] == 3; }

// Attributes that a rule leaves free: those of the operators that it matched.
struct FreeAttributes {
  std::optional<Window> conv, max_pool, average_pool;
  std::optional<pcg::Attention> attention;
  bool keeps_attentions = true;  // the target has as many as the source
  std::optional<pcg::Dropout> dropout;
};
FreeAttributes free_attributes(const Rule& rule, const Match& match, const pcg::Pcg& graph) {
  const auto window_of = [](const auto& o) { return Window{o.rows, o.columns}; };
  FreeAttributes free;
  std::size_t at = 0;
  for (const Node& n : rule.source().nodes) {
    if (n.kind == Kind::variable) continue;
    const Operator* op = graph.node(match.nodes[at++]).operation();  // null: a parallel operator
    if (is_convolution(n.kind) && is_any_kernel(rule.source_types()[n.inputs[1]][0])) free.conv = window_of(std::get<pcg::Conv2d>(*op));
    if (n.kind == Kind::dropout) free.dropout = std::get<pcg::Dropout>(*op);
    if (n.kind == Kind::max_pool) free.max_pool = window_of(std::get<pcg::Pool2d>(*op));
    if (n.kind == Kind::average_pool) free.average_pool = window_of(std::get<pcg::Pool2d>(*op));
    if (n.kind == Kind::attention) free.attention = std::get<pcg::Attention>(*op);
  }
  free.keeps_attentions = rule.target().count(Kind::attention) == rule.source().count(Kind::attention);
  return free;
}

struct Made {
  Wire wire;
  double scalar = 1;  // of a number
};

// Every step says whether it went well; the first one that did not has left its reason.
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

const ParallelShape& shape(const Instantiation& t, const Wire& w) {
  const auto o = static_cast<std::size_t>(w.output);
  return w.fresh ? t.target.nodes[w.node].outputs[o] : t.graph.nodes()[w.node].outputs[o];
}

const ParallelShape& shape(const Instantiation& t, std::uint8_t n) { return shape(t, t.made[n].wire); }

// The dim of a node's input in the graph that its axis stands for: the input may have more dims than the rule's.
int dim_in_graph(const Instantiation& t, const Node& node) {
  const std::size_t rule_rank = rank_of(t, node.inputs[0]), rank = shape(t, node.inputs[0]).dims.size();
  BASE_CHECK(rank >= rule_rank, "a tensor of rank {} where the rule has {}", rank, rule_rank);
  return node.axis > 0 || rank == rule_rank ? static_cast<int>(node.axis + rank - rule_rank) : t.match.row;
}

pcg::ParallelOperator movement(const Instantiation& t, const Node& node, int degree) {
  const int dim = has_axis(node.kind) ? dim_in_graph(t, node) : 0;
  switch (node.kind) {
    case Kind::partition: return pcg::Partition{dim, degree};
    case Kind::combine: return pcg::Combine{dim, degree};
    case Kind::replicate: return pcg::Replicate{degree};
    default: return pcg::Reduce{degree};
  }
}

void append(Instantiation& t, FreshNode n) {
  t.target.nodes.push_back(std::move(n));
  t.made.push_back({{true, t.target.nodes.size() - 1, 0}});
}

bool add_movement(Instantiation& t, const Node& node) {
  const Wire in = t.made[node.inputs[0]].wire;
  const std::optional<int> degree = degree_at(node.degree, t.degrees);
  if (!degree || *degree < 2) return refuse(t, fmt::format("{}: its degree is not given", name_of(node.kind)));
  const pcg::ParallelOperator op = movement(t, node, *degree);
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
  const int dim = dim_in_graph(t, node);
  const std::optional<std::int64_t> at = size_of(t.match.sizes, node.at);
  if (!at) return refuse(t, "a size is not known from the source");
  const std::int64_t whole = in.dims[static_cast<std::size_t>(dim)].size;
  const bool second = node.kind == Kind::split1;
  if (!other) return compute(t, node, pcg::Slice{.axis = dim, .begin = second ? *at : 0, .length = second ? whole - *at : *at});
  if (!compute(t, node, pcg::Split{.axis = dim, .sizes = {*at, whole - *at}})) return false;
  t.made.back().wire.output = second ? 1 : 0;
  return true;
}

Outcome transpose(const Instantiation& t, const Node& node) {
  const std::size_t rank = shape(t, node.inputs[0]).dims.size();
  if (rank_of(t, node.inputs[0]) == 2 && rank > 2 && t.match.row + 2 != static_cast<int>(rank))
    return base::Refusal{"the rows that are transposed are not the last but one dim"};
  if (rank < 2) return base::Refusal{"transpose of a tensor of one dim"};
  return Operator(pcg::Transpose{last_two_swapped(rank)});
}

Outcome convolution(const Instantiation& t, const Node& node) {
  const std::vector<std::int64_t> x = shape(t, node.inputs[0]).whole().sizes, w = shape(t, node.inputs[1]).whole().sizes;
  const bool any = is_any_kernel(t.rule.target_types()[node.inputs[1]][0]) && t.free.conv;
  const Window k = any ? *t.free.conv : same_window(static_cast<int>(w[2]), static_cast<int>(w[3]));
  if (x[1] % w[1] != 0) return base::Refusal{"conv: channels do not divide into groups"};
  return Operator(pcg::Conv2d{.out = w[0],
                              .rows = k.rows,
                              .columns = k.columns,
                              .groups = static_cast<int>(x[1] / w[1]),
                              .has_bias = node.kind == Kind::conv_bias,
                              .activation = static_cast<pcg::Activation>(node.function)});
}

Operator pool(pcg::Pool2d::Kind kind, const std::optional<Window>& matched) {
  const Window k = matched.value_or(same_window(3, 3));
  return pcg::Pool2d{.kind = kind, .rows = k.rows, .columns = k.columns};
}

// A dropout's mask belongs to its node: none may be made or go.
Outcome attention(const FreeAttributes& free) {
  if (!free.attention) return base::Refusal{"heads are not known from the source"};
  if (free.attention->dropout > 0 && !free.keeps_attentions) return base::Refusal{"dropout in an attention that is not kept one for one"};
  return Operator(*free.attention);
}

Operator unary(Function f) {
  if (f == Function::relu2) return pcg::Unary{pcg::Unary::Kind::relu2};
  return pcg::Unary{static_cast<pcg::Unary::Kind>(static_cast<int>(f) - 1)};  // their order is that of rules (graph_index.cpp)
}

Outcome binary(const Instantiation& t, const Node& node) {
  if (shape(t, node.inputs[0]).whole() != shape(t, node.inputs[1]).whole()) return base::Refusal{"operands of different shapes"};
  return Operator(pcg::Binary{node.kind == Kind::add ? pcg::Binary::Kind::add : pcg::Binary::Kind::multiply});
}

// The operator, or why there is none.
Outcome target_operator(const Instantiation& t, const Node& node) {
  const auto sizes_of_weight = [&] { return shape(t, node.inputs[1]).whole().sizes; };
  switch (node.kind) {
    case Kind::linear:
    case Kind::linear_bias:
      return Operator(pcg::Linear{.out = sizes_of_weight().back(),
                                  .has_bias = node.kind == Kind::linear_bias,
                                  .activation = static_cast<pcg::Activation>(node.function)});
    case Kind::batch_matmul: return Operator(pcg::BatchMatmul{});
    case Kind::conv:
    case Kind::conv_bias: return convolution(t, node);
    case Kind::max_pool: return pool(pcg::Pool2d::Kind::max, t.free.max_pool);
    case Kind::average_pool: return pool(pcg::Pool2d::Kind::average, t.free.average_pool);
    case Kind::add:
    case Kind::multiply: return binary(t, node);
    case Kind::unary: return unary(node.function);
    case Kind::dropout: return Operator(t.free.dropout.value_or(pcg::Dropout{}));
    case Kind::scale: return Operator(pcg::Unary{pcg::Unary::Kind::scale, t.made[node.inputs[1]].scalar});
    case Kind::concat: return Operator(pcg::Concat{dim_in_graph(t, node)});
    case Kind::transpose: return transpose(t, node);
    case Kind::sum: return Operator(pcg::Reduction{.axis = node.axis});  // no dims ride along (Pattern::exact_rank)
    case Kind::softmax: return Operator(pcg::Softmax{});
    case Kind::layer_norm: return Operator(pcg::LayerNorm{});
    case Kind::rms_norm: return Operator(pcg::LayerNorm{.rms = true});
    case Kind::batch_norm: return Operator(pcg::BatchNorm{});
    case Kind::embedding: return Operator(pcg::Embedding{sizes_of_weight()[0], sizes_of_weight()[1]});
    case Kind::embedding_bag: return Operator(pcg::EmbeddingBag{sizes_of_weight()[0], sizes_of_weight()[1]});
    case Kind::attention: return attention(t.free);
    case Kind::summands: return Operator(pcg::Summands{{shape(t, node.inputs[0]).sum, shape(t, node.inputs[1]).sum}});
    default: return base::Refusal{fmt::format("{} is no operator of a graph", name_of(node.kind))};
  }
}

bool add(Instantiation& t, std::size_t n) {
  const Node& node = t.term.nodes[n];
  if (node.kind == Kind::variable) return add_variable(t, node);
  if (node.inputs.empty()) return refuse(t, fmt::format("{} is no operator of a graph", name_of(node.kind)));
  if (rank_of(t, n) == 0) return add_scalar(t, node);
  if (is_movement(node.kind)) return add_movement(t, node);
  if (is_split(node.kind)) return add_split(t, n);
  base::Attempt<pcg::Operator> op = target_operator(t, node);
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
