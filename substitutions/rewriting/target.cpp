#include "substitutions/rewriting/target.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/infer_sharding.hpp"
#include "substitutions/matching/pattern.hpp"

namespace substitutions {
namespace {

using pcg::ParallelShape;
using pcg::TensorShape;

// Attributes that the rule leaves free: those of the operators that it matched.
struct Free {
  std::optional<Window> conv, max_pool, average_pool;
  std::optional<pcg::Attention> attention;
  std::ptrdiff_t attentions = 0;
  std::optional<pcg::Dropout> dropout;
};

// Every step says whether it went well; the first one that did not has left its reason.
class Instantiation {
 public:
  Instantiation(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees)
      : rule_(rule), term_(rule.target()), match_(match), graph_(graph), degrees_(degrees) {}

  base::Attempt<Target> run() {
    if (!ranks_fit()) return refusal_;
    collect_source(rule_.source_types());
    const std::vector<Types>& types = rule_.target_types();
    for (std::size_t n = 0; n < term_.nodes.size(); ++n) {
      rank_.push_back(types[n][0].rank);
      kernel_rows_.push_back(types[n][0].size[2]);
      kernel_columns_.push_back(types[n][0].size[3]);
      if (!add(n)) return refusal_;
    }
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

  // The attributes of the matched operators that the rule leaves free.
  void collect_source(const std::vector<Types>& types) {
    std::size_t at = 0;
    for (const Node& n : rule_.source().nodes) {
      if (n.kind == Kind::variable) continue;
      const pcg::PcgNode& node = graph_.node(match_.nodes[at++]);
      if (is_convolution(n.kind) && is_any_kernel(types[n.inputs[1]][0])) free_.conv = window_of(*node.operation());
      if (n.kind == Kind::dropout) free_.dropout = std::get<pcg::Dropout>(*node.operation());
      if (n.kind == Kind::max_pool) free_.max_pool = window_of(*node.operation());
      if (n.kind == Kind::average_pool) free_.average_pool = window_of(*node.operation());
      if (n.kind == Kind::attention) {
        free_.attention = std::get<pcg::Attention>(*node.operation());
        ++free_.attentions;
      }
    }
  }
  // A kernel of 3 x 3 stands for any.
  static bool is_any_kernel(const Type& w) { return w.size[2] == 3 && w.size[3] == 3; }

  // A rule's dim in a tensor that may have more.
  [[nodiscard]] std::size_t dim_at(std::size_t dim, std::size_t rule_rank, std::size_t rank) const {
    BASE_CHECK(rank >= rule_rank, "a tensor of rank {} where the rule has {}", rank, rule_rank);
    const std::size_t excess = rank - rule_rank;
    return dim > 0 || excess == 0 ? dim + excess : static_cast<std::size_t>(match_.row);
  }

  [[nodiscard]] const ParallelShape& shape(const Wire& w) const {
    const auto o = static_cast<std::size_t>(w.output);
    return w.fresh ? target_.nodes[w.node].outputs[o] : graph_.nodes()[w.node].outputs[o];
  }
  [[nodiscard]] const ParallelShape& shape(std::uint8_t n) const { return shape(made_[n].wire); }

  bool add(std::size_t n) {
    const Node& node = term_.nodes[n];
    if (node.kind == Kind::variable) return add_variable(node);
    if (node.inputs.empty()) return refuse(fmt::format("{} is no operator of a graph", name_of(node.kind)));
    if (rank_[n] == 0) return add_scalar(node);
    if (is_movement(node.kind)) return add_movement(node);
    if (is_split(node.kind)) return add_split(n);
    std::optional<pcg::Operator> op = operation(node);
    return op && compute(node.kind, std::move(*op), node);
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
    const pcg::ParallelOperator op = movement(node, *degree, rank_[node.inputs[0]], shape(in).dims.size());
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
      if (rank_[i] == 0) continue;
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
    const auto dim = static_cast<int>(dim_at(node.axis, rank_[node.inputs[0]], in.dims.size()));
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
    const int dim = has_axis(node.kind) ? static_cast<int>(dim_at(node.axis, rule_rank, rank)) : 0;
    switch (node.kind) {
      case Kind::partition: return pcg::Partition{dim, degree};
      case Kind::combine: return pcg::Combine{dim, degree};
      case Kind::replicate: return pcg::Replicate{degree};
      default: return pcg::Reduce{degree};
    }
  }

  std::nullopt_t no(std::string reason) {
    refuse(std::move(reason));
    return std::nullopt;
  }
  [[nodiscard]] std::optional<pcg::Operator> operation(const Node& node) {
    const auto activation = static_cast<pcg::Activation>(node.function);
    const ParallelShape& x = shape(node.inputs[0]);
    const std::size_t rank = x.dims.size();
    const auto sizes_of_weight = [&] { return shape(node.inputs[1]).whole().sizes; };
    switch (node.kind) {
      case Kind::linear:
      case Kind::linear_bias:
        return pcg::Linear{.out = sizes_of_weight().back(), .has_bias = node.kind == Kind::linear_bias, .activation = activation};
      case Kind::batch_matmul: return pcg::BatchMatmul{};
      case Kind::conv:
      case Kind::conv_bias: return convolution(node, x.whole().sizes, sizes_of_weight(), activation);
      case Kind::max_pool: return pool(pcg::Pool2d::Kind::max, free_.max_pool.value_or(same_window(3, 3)));
      case Kind::average_pool: return pool(pcg::Pool2d::Kind::average, free_.average_pool.value_or(same_window(3, 3)));
      case Kind::add:
      case Kind::multiply:
        if (x.whole() != shape(node.inputs[1]).whole()) return no("operands of different shapes");
        return pcg::Binary{node.kind == Kind::add ? pcg::Binary::Kind::add : pcg::Binary::Kind::multiply};
      case Kind::unary: return pcg::Unary{static_cast<pcg::Unary::Kind>(static_cast<int>(node.function) - 1)};
      case Kind::dropout: return free_.dropout.value_or(pcg::Dropout{});
      case Kind::scale: return pcg::Unary{pcg::Unary::Kind::scale, made_[node.inputs[1]].scalar};
      case Kind::concat: return pcg::Concat{static_cast<int>(dim_at(node.axis, rank_[node.inputs[0]], rank))};
      case Kind::transpose: return transpose(rank_[node.inputs[0]], rank);
      case Kind::sum: return pcg::Reduction{.axis = node.axis};  // no dims ride along (Pattern::exact_rank)
      case Kind::softmax: return pcg::Softmax{};
      case Kind::layer_norm: return pcg::LayerNorm{};
      case Kind::rms_norm: return pcg::LayerNorm{.rms = true};
      case Kind::batch_norm: return pcg::BatchNorm{};
      case Kind::embedding: return pcg::Embedding{sizes_of_weight()[0], sizes_of_weight()[1]};
      case Kind::embedding_bag: return pcg::EmbeddingBag{sizes_of_weight()[0], sizes_of_weight()[1]};
      case Kind::attention: return attention();
      case Kind::summands: return pcg::Summands{{x.sum, shape(node.inputs[1]).sum}};
      default: return no(fmt::format("{} is no operator of a graph", name_of(node.kind)));
    }
  }

  [[nodiscard]] std::optional<pcg::Operator> transpose(std::size_t rule_rank, std::size_t rank) {
    if (rule_rank == 2 && rank > 2 && match_.row + 2 != static_cast<int>(rank))
      return no("the rows that are transposed are not the last but one dim");
    if (rank < 2) return no("transpose of a tensor of one dim");
    pcg::Transpose t;
    for (std::size_t d = 0; d < rank; ++d) t.permutation.push_back(static_cast<int>(d));
    std::swap(t.permutation[rank - 1], t.permutation[rank - 2]);
    return t;
  }

  [[nodiscard]] std::optional<pcg::Operator> convolution(const Node& node, const std::vector<std::int64_t>& x,
                                                         const std::vector<std::int64_t>& w, pcg::Activation activation) {
    const bool any = kernel_rows_[node.inputs[1]] == 3 && kernel_columns_[node.inputs[1]] == 3 && free_.conv;
    const Window k = any ? *free_.conv : same_window(static_cast<int>(w[2]), static_cast<int>(w[3]));
    if (x[1] % w[1] != 0) return no("conv: channels do not divide into groups");
    return pcg::Conv2d{.out = w[0],
                       .rows = k.rows,
                       .columns = k.columns,
                       .groups = static_cast<int>(x[1] / w[1]),
                       .has_bias = node.kind == Kind::conv_bias,
                       .activation = activation};
  }
  [[nodiscard]] static pcg::Pool2d pool(pcg::Pool2d::Kind kind, const Window& k) {
    return {.kind = kind, .rows = k.rows, .columns = k.columns};
  }
  // A dropout's mask belongs to its node: none may be made or go.
  [[nodiscard]] std::optional<pcg::Operator> attention() {
    if (!free_.attention) return no("heads are not known from the source");
    if (free_.attention->dropout > 0 && std::ranges::count(term_.nodes, Kind::attention, &Node::kind) != free_.attentions)
      return no("dropout in an attention that is not kept one for one");
    return *free_.attention;
  }

  const Rule& rule_;
  const Term& term_;
  const Match& match_;
  const pcg::Pcg& graph_;
  std::array<int, 2> degrees_;
  Free free_;
  std::vector<std::uint8_t> rank_;  // by node of the target
  std::vector<std::int64_t> kernel_rows_, kernel_columns_;
  std::vector<Made> made_;
  Target target_;
  base::Refusal refusal_;
};

}  // namespace

base::Attempt<Target> instantiate(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees) {
  return Instantiation(rule, match, graph, degrees).run();
}

}  // namespace substitutions
