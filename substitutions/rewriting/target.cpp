#include "substitutions/rewriting/target.hpp"
#include "substitutions/language/typing.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/infer_sharding.hpp"

namespace substitutions {
namespace {

using pcg::ParallelShape;
using pcg::ShapeError;
using pcg::TensorShape;

// Attributes that the rule leaves free: those of the operators that it matched.
struct Free {
  std::optional<Window> conv, max_pool, average_pool;
  std::optional<pcg::Attention> attention;
  std::ptrdiff_t attentions = 0;
  std::optional<pcg::Dropout> dropout;
};

class Instantiation {
 public:
  Instantiation(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees)
      : rule_(rule), term_(rule.target()), match_(match), graph_(graph), degrees_(degrees) {
    collect_source();
  }

  Target run() {
    const auto types = types_of(term_, rule_.equation.variables);
    if (!types) throw ShapeError("the rule's target is not well typed");
    for (std::size_t n = 0; n < term_.nodes.size(); ++n) {
      rank_.push_back((*types)[n][0].rank);
      kernel_rows_.push_back((*types)[n][0].size[2]);
      kernel_columns_.push_back((*types)[n][0].size[3]);
      add(n);
    }
    for (std::uint8_t o : term_.outputs) target_.outputs.push_back(made_[o].wire);
    return std::move(target_);
  }

 private:
  struct Made {
    Wire wire;
    double scalar = 1;  // of a number
  };

  // What the matched operators say of sizes and free attributes.
  void collect_source() {
    const Term& source = rule_.source();
    const auto types = types_of(source, rule_.equation.variables);
    std::vector<Numbers> not_known;  // widths of queries, keys and values where heads share keys
    std::size_t at = 0;
    for (const Node& n : source.nodes) {
      if (n.kind == Kind::variable) continue;
      const pcg::PcgNode& node = graph_.node(match_.nodes[at++]);
      if (is_convolution(n.kind) && is_any_window(source, n)) free_.conv = window_of(*node.operation());
      if (n.kind == Kind::dropout) free_.dropout = std::get<pcg::Dropout>(*node.operation());
      if (n.kind == Kind::max_pool) free_.max_pool = window_of(*node.operation());
      if (n.kind == Kind::average_pool) free_.average_pool = window_of(*node.operation());
      if (n.kind == Kind::attention) {
        free_.attention = std::get<pcg::Attention>(*node.operation());
        ++free_.attentions;
        if (free_.attention->heads != free_.attention->kv_heads) not_known.push_back(dim_size((*types)[n.inputs[0]], 2));
      }
      if (is_split(n.kind)) known_.emplace_back(size_text(n.at), first_part(*node.operation(), n.kind));
    }
    for (const auto& [letter, size] : match_.sizes) known_.emplace_back(SizeText{std::string(1, letter), 0}, size);
    const std::vector<Variable>& variables = rule_.equation.variables;
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const Type& t = variables[v].types[0];
      if (t.rank == 0 || !in_source(v)) continue;
      const std::vector<std::int64_t> have = graph_.shape(match_.variables[v]).whole().sizes;
      for (std::size_t d = 0; d < t.rank; ++d) {
        const Numbers n = dim_size(variables[v].types, d);
        if (std::ranges::find(not_known, n) != not_known.end()) continue;
        known_.emplace_back(size_text(n), have[dim_at(d, t.rank, have.size())]);
      }
    }
  }
  static std::int64_t first_part(const pcg::Operator& op, Kind half) {
    if (const auto* split = std::get_if<pcg::Split>(&op)) return split->sizes[0];
    const auto& slice = std::get<pcg::Slice>(op);
    return half == Kind::split0 ? slice.length : slice.begin;
  }
  [[nodiscard]] bool in_source(std::size_t v) const {
    return std::ranges::any_of(rule_.source().nodes, [&](const Node& n) { return n.kind == Kind::variable && n.variable == v; });
  }
  [[nodiscard]] bool is_any_window(const Term& t, const Node& conv) const {
    const auto types = types_of(t, rule_.equation.variables);
    const Type& w = (*types)[conv.inputs[1]][0];
    return w.size[2] == 3 && w.size[3] == 3;
  }

  // A rule's dim in a tensor that may have more.
  [[nodiscard]] std::size_t dim_at(std::size_t dim, std::size_t rule_rank, std::size_t rank) const {
    if (rank < rule_rank) throw ShapeError("a tensor has fewer dims than the rule asks for");
    const std::size_t excess = rank - rule_rank;
    return dim > 0 || excess == 0 ? dim + excess : static_cast<std::size_t>(match_.row);
  }

  [[nodiscard]] std::int64_t size_of(const Numbers& n) const {
    LetterSizes sizes{};
    bool open = false;
    for (int round = 0; round < 3; ++round)
      for (const auto& [text, size] : known_) (void)learn(sizes, text, size, open);  // the match has checked that they agree
    const SizeText wanted = size_text(n);
    if (wanted.letters.empty()) return wanted.number;
    std::int64_t sum = 0;
    for (char c : wanted.letters) {
      const std::int64_t s = c >= 'a' && c <= 'z' ? sizes[static_cast<std::size_t>(c - 'a')] : 0;
      if (s == 0) throw ShapeError("a size is not known from the source");
      sum += s;
    }
    return sum;
  }

  [[nodiscard]] const ParallelShape& shape(const Wire& w) const {
    const auto o = static_cast<std::size_t>(w.output);
    return w.fresh ? target_.nodes[w.node].outputs[o] : graph_.nodes()[w.node].outputs[o];
  }
  [[nodiscard]] const ParallelShape& shape(std::uint8_t n) const { return shape(made_[n].wire); }

  void add(std::size_t n) {
    const Node& node = term_.nodes[n];
    if (node.kind == Kind::variable) return add_variable(node);
    if (node.inputs.empty()) throw ShapeError(fmt::format("{} is no operator of a graph", name_of(node.kind)));
    if (rank_[n] == 0) return add_scalar(node);
    if (is_movement(node.kind)) {
      const Wire in = made_[node.inputs[0]].wire;
      const pcg::ParallelOperator op = movement(node, rank_[node.inputs[0]], shape(in).dims.size());
      return append(node.kind, op, {in}, {}, {pcg::apply(op, shape(in))});
    }
    if (is_split(node.kind)) return add_split(n);
    compute(node.kind, operation(node), node);
  }

  void add_variable(const Node& node) {
    const pcg::TensorRef t = match_.variables[node.variable];
    Made& m = made_.emplace_back(Made{{false, t.node.value, t.output}});
    if (rule_.equation.variables[node.variable].types[0].rank == 0)
      m.scalar = std::get<pcg::Unary>(*graph_.node(t.node).operation()).factor;
  }
  void add_scalar(const Node& node) {
    if (node.kind != Kind::add && node.kind != Kind::multiply) throw ShapeError("numbers can be added and multiplied only");
    const double a = made_[node.inputs[0]].scalar, b = made_[node.inputs[1]].scalar;
    made_.push_back({{}, node.kind == Kind::add ? a + b : a * b});
  }

  void append(Kind kind, std::variant<pcg::Operator, pcg::ParallelOperator> op, std::vector<Wire> inputs, pcg::Sharding sharding,
              std::vector<ParallelShape> outputs) {
    target_.nodes.push_back({kind, std::move(op), std::move(inputs), std::move(sharding), std::move(outputs)});
    made_.push_back({{true, target_.nodes.size() - 1, 0}});
  }
  void compute(Kind kind, pcg::Operator op, const Node& node) {
    std::vector<Wire> inputs;
    std::vector<ParallelShape> shapes;
    std::vector<TensorShape> wholes;
    for (std::uint8_t i : node.inputs) {
      if (rank_[i] == 0) continue;
      inputs.push_back(made_[i].wire);
      shapes.push_back(shape(i));
      wholes.push_back(shapes.back().whole());
    }
    const std::vector<TensorShape> outputs = pcg::infer_shapes(op, wholes);
    const pcg::IterationSpace space = pcg::iteration_space(op, wholes);
    const std::optional<pcg::Sharding> sharding = pcg::infer_sharding(space, shapes);
    if (!sharding) {
      std::string layouts;
      for (const ParallelShape& s : shapes) layouts += fmt::format("{}{}", layouts.empty() ? "" : ", ", pcg::to_text(s));
      throw ShapeError(fmt::format("{} cannot read {}", name_of(kind), layouts));
    }
    if (auto v = pcg::violation(space, *sharding, wholes, outputs)) throw ShapeError(fmt::format("{}: {}", name_of(kind), *v));
    std::vector<ParallelShape> made;
    for (std::size_t j = 0; j < outputs.size(); ++j) made.push_back(pcg::output_shape(space, *sharding, j, outputs[j]));
    append(kind, std::move(op), std::move(inputs), *sharding, std::move(made));
  }

  // Halves of one split share a node; a half that nobody wants is not made.
  void add_split(std::size_t n) {
    const Node& node = term_.nodes[n];
    bool other = false;
    for (std::size_t m = 0; m < term_.nodes.size(); ++m) {
      const Node& half = term_.nodes[m];
      if (m == n || !is_split(half.kind) || half.kind == node.kind) continue;
      if (half.inputs != node.inputs || half.axis != node.axis || half.at != node.at) continue;
      other = true;
      if (m > n) continue;
      made_.push_back({{true, made_[m].wire.node, node.kind == Kind::split1 ? 1 : 0}});
      return;
    }
    const ParallelShape& in = shape(node.inputs[0]);
    const auto dim = static_cast<int>(dim_at(node.axis, rank_[node.inputs[0]], in.dims.size()));
    const std::int64_t whole = in.dims[static_cast<std::size_t>(dim)].size, at = size_of(node.at);
    const bool second = node.kind == Kind::split1;
    if (other) {
      compute(node.kind, pcg::Split{.axis = dim, .sizes = {at, whole - at}}, node);
      made_.back().wire.output = second ? 1 : 0;
    } else {
      compute(node.kind, pcg::Slice{.axis = dim, .begin = second ? at : 0, .length = second ? whole - at : at}, node);
    }
  }

  [[nodiscard]] pcg::ParallelOperator movement(const Node& node, std::size_t rule_rank, std::size_t rank) const {
    const std::optional<int> degree = degree_at(node.degree, degrees_);
    if (!degree || *degree < 2) throw ShapeError(fmt::format("{}: its degree is not given", name_of(node.kind)));
    const auto dim = static_cast<int>(dim_at(node.axis, rule_rank, rank));
    switch (node.kind) {
      case Kind::partition: return pcg::Partition{dim, *degree};
      case Kind::combine: return pcg::Combine{dim, *degree};
      case Kind::replicate: return pcg::Replicate{*degree};
      default: return pcg::Reduce{*degree};
    }
  }

  [[nodiscard]] pcg::Operator operation(const Node& node) {
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
        if (x.whole() != shape(node.inputs[1]).whole()) throw ShapeError("operands of different shapes");
        return pcg::Binary{node.kind == Kind::add ? pcg::Binary::Kind::add : pcg::Binary::Kind::multiply};
      case Kind::unary: return pcg::Unary{static_cast<pcg::Unary::Kind>(static_cast<int>(node.function) - 1)};
      case Kind::dropout: return free_.dropout.value_or(pcg::Dropout{});
      case Kind::scale: return pcg::Unary{pcg::Unary::Kind::scale, made_[node.inputs[1]].scalar};
      case Kind::concat: return pcg::Concat{static_cast<int>(dim_at(node.axis, rank_[node.inputs[0]], rank))};
      case Kind::transpose: {
        if (rank_[node.inputs[0]] == 2 && rank > 2 && match_.row + 2 != static_cast<int>(rank))
          throw ShapeError("the rows that are transposed are not the last but one dim");
        pcg::Transpose t;
        for (std::size_t d = 0; d < rank; ++d) t.permutation.push_back(static_cast<int>(d));
        if (rank < 2) throw ShapeError("transpose of a tensor of one dim");
        std::swap(t.permutation[rank - 1], t.permutation[rank - 2]);
        return t;
      }
      case Kind::sum: return pcg::Reduction{.axis = node.axis};  // no dims ride along (Pattern::exact_rank)
      case Kind::softmax: return pcg::Softmax{};
      case Kind::layer_norm: return pcg::LayerNorm{};
      case Kind::rms_norm: return pcg::LayerNorm{.rms = true};
      case Kind::batch_norm: return pcg::BatchNorm{};
      case Kind::embedding: return pcg::Embedding{sizes_of_weight()[0], sizes_of_weight()[1]};
      case Kind::embedding_bag: return pcg::EmbeddingBag{sizes_of_weight()[0], sizes_of_weight()[1]};
      case Kind::attention: return attention();
      case Kind::summands: return pcg::Summands{{x.sum, shape(node.inputs[1]).sum}};
      default: throw ShapeError(fmt::format("{} is no operator of a graph", name_of(node.kind)));
    }
  }

  [[nodiscard]] pcg::Conv2d convolution(const Node& node, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                                        pcg::Activation activation) const {
    const bool any = kernel_rows_[node.inputs[1]] == 3 && kernel_columns_[node.inputs[1]] == 3 && free_.conv;
    const Window k = any ? *free_.conv : same_window(static_cast<int>(w[2]), static_cast<int>(w[3]));
    if (x[1] % w[1] != 0) throw ShapeError("conv: channels do not divide into groups");
    return {.out = w[0],
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
  [[nodiscard]] pcg::Attention attention() const {
    if (!free_.attention) throw ShapeError("heads are not known from the source");
    if (free_.attention->dropout > 0 && std::ranges::count(term_.nodes, Kind::attention, &Node::kind) != free_.attentions)
      throw ShapeError("dropout in an attention that is not kept one for one");
    return *free_.attention;
  }

  const Rule& rule_;
  const Term& term_;
  const Match& match_;
  const pcg::Pcg& graph_;
  std::array<int, 2> degrees_;
  Free free_;
  std::vector<std::pair<SizeText, std::int64_t>> known_;
  std::vector<std::uint8_t> rank_;  // by node of the target
  std::vector<std::int64_t> kernel_rows_, kernel_columns_;
  std::vector<Made> made_;
  Target target_;
};

}  // namespace

Target instantiate(const Rule& rule, const Match& match, const pcg::Pcg& graph, const std::array<int, 2>& degrees) {
  return Instantiation(rule, match, graph, degrees).run();
}

}  // namespace substitutions
