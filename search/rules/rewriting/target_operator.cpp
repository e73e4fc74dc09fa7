#include "search/rules/rewriting/target.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"

namespace rules {
namespace {

using pcg::Operator;
using Outcome = base::Attempt<Operator>;

// A kernel of 3 x 3 stands for any.
bool is_any_kernel(const Type& w) { return w.size[2] == 3 && w.size[3] == 3; }

Outcome transpose(std::size_t rule_rank, std::size_t rank, int row) {
  if (rule_rank == 2 && rank > 2 && row + 2 != static_cast<int>(rank))
    return base::Refusal{"the rows that are transposed are not the last but one dim"};
  if (rank < 2) return base::Refusal{"transpose of a tensor of one dim"};
  return Operator(pcg::Transpose{last_two_swapped(rank)});
}

Outcome convolution(const Node& node, std::span<const TargetInput> inputs, const FreeAttributes& free) {
  const std::vector<std::int64_t> x = inputs[0].shape->whole().sizes, w = inputs[1].shape->whole().sizes;
  const bool any = is_any_kernel(*inputs[1].in_rule) && free.conv;
  const Window k = any ? *free.conv : same_window(static_cast<int>(w[2]), static_cast<int>(w[3]));
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

Outcome binary(const Node& node, std::span<const TargetInput> inputs) {
  if (inputs[0].shape->whole() != inputs[1].shape->whole()) return base::Refusal{"operands of different shapes"};
  return Operator(pcg::Binary{node.kind == Kind::add ? pcg::Binary::Kind::add : pcg::Binary::Kind::multiply});
}

}  // namespace

FreeAttributes free_attributes(const Rule& rule, const Match& match, const pcg::Pcg& graph) {
  FreeAttributes free;
  std::size_t at = 0;
  std::ptrdiff_t attentions = 0;
  for (const Node& n : rule.source().nodes) {
    if (n.kind == Kind::variable) continue;
    const Operator* op = graph.node(match.nodes[at++]).operation();  // null: a parallel operator
    if (is_convolution(n.kind) && is_any_kernel(rule.source_types()[n.inputs[1]][0])) free.conv = window_of(*op);
    if (n.kind == Kind::dropout) free.dropout = std::get<pcg::Dropout>(*op);
    if (n.kind == Kind::max_pool) free.max_pool = window_of(*op);
    if (n.kind == Kind::average_pool) free.average_pool = window_of(*op);
    if (n.kind == Kind::attention) {
      free.attention = std::get<pcg::Attention>(*op);
      ++attentions;
    }
  }
  free.keeps_attentions = std::ranges::count(rule.target().nodes, Kind::attention, &Node::kind) == attentions;
  return free;
}

Outcome target_operator(const Node& node, std::span<const TargetInput> inputs, const FreeAttributes& free, int row) {
  const std::size_t rule_rank = inputs[0].in_rule->rank, rank = inputs[0].shape->dims.size();
  const auto sizes_of_weight = [&] { return inputs[1].shape->whole().sizes; };
  switch (node.kind) {
    case Kind::linear:
    case Kind::linear_bias:
      return Operator(pcg::Linear{.out = sizes_of_weight().back(),
                                  .has_bias = node.kind == Kind::linear_bias,
                                  .activation = static_cast<pcg::Activation>(node.function)});
    case Kind::batch_matmul: return Operator(pcg::BatchMatmul{});
    case Kind::conv:
    case Kind::conv_bias: return convolution(node, inputs, free);
    case Kind::max_pool: return pool(pcg::Pool2d::Kind::max, free.max_pool);
    case Kind::average_pool: return pool(pcg::Pool2d::Kind::average, free.average_pool);
    case Kind::add:
    case Kind::multiply: return binary(node, inputs);
    case Kind::unary: return unary(node.function);
    case Kind::dropout: return Operator(free.dropout.value_or(pcg::Dropout{}));
    case Kind::scale: return Operator(pcg::Unary{pcg::Unary::Kind::scale, inputs[1].scalar});
    case Kind::concat: return Operator(pcg::Concat{static_cast<int>(dim_in_graph(node.axis, rule_rank, rank, row))});
    case Kind::transpose: return transpose(rule_rank, rank, row);
    case Kind::sum: return Operator(pcg::Reduction{.axis = node.axis});  // no dims ride along (Pattern::exact_rank)
    case Kind::softmax: return Operator(pcg::Softmax{});
    case Kind::layer_norm: return Operator(pcg::LayerNorm{});
    case Kind::rms_norm: return Operator(pcg::LayerNorm{.rms = true});
    case Kind::batch_norm: return Operator(pcg::BatchNorm{});
    case Kind::embedding: return Operator(pcg::Embedding{sizes_of_weight()[0], sizes_of_weight()[1]});
    case Kind::embedding_bag: return Operator(pcg::EmbeddingBag{sizes_of_weight()[0], sizes_of_weight()[1]});
    case Kind::attention: return attention(free);
    case Kind::summands: return Operator(pcg::Summands{{inputs[0].shape->sum, inputs[1].shape->sum}});
    default: return base::Refusal{fmt::format("{} is no operator of a graph", name_of(node.kind))};
  }
}

std::size_t dim_in_graph(std::size_t dim, std::size_t rule_rank, std::size_t rank, int row) {
  BASE_CHECK(rank >= rule_rank, "a tensor of rank {} where the rule has {}", rank, rule_rank);
  const std::size_t excess = rank - rule_rank;
  return dim > 0 || excess == 0 ? dim + excess : static_cast<std::size_t>(row);
}

}  // namespace rules
