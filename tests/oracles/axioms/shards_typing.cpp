#include "tests/oracles/axioms/shards.hpp"

#include "pcg/operators/operator_shapes.hpp"

namespace rules {
namespace {

using pcg::ParallelShape;
using pcg::TensorShape;

// Every dim of an elementwise tensor is a loop; `axis` may not be cut.
pcg::IterationSpace elementwise(const TensorShape& t, std::size_t inputs, bool linear, int axis = -1) {
  pcg::IterationSpace s;
  std::vector<int> dims;
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    s.loops.push_back({std::to_string(d), t.sizes[d], static_cast<int>(d) == axis ? pcg::Cut::none : pcg::Cut::free});
    dims.push_back(static_cast<int>(d));
  }
  s.inputs.assign(inputs, dims);
  s.outputs = {dims};
  s.linear = linear;
  return s;
}

// The operator of real graphs that a node is, where there is one.
std::optional<pcg::Operator> real_operator(const SmallNode& n, std::span<const TensorShape> in) {
  const auto size = [&](std::size_t i, std::size_t d) { return in[i].sizes.at(d); };
  const auto kernel = [&](std::size_t d) { return static_cast<int>(size(1, d)); };
  const int rank = static_cast<int>(in[0].sizes.size());
  if (n.kind != Kind::unary && !is_built_in(n.function)) return std::nullopt;
  const auto activation = static_cast<pcg::Activation>(n.function);  // their order is that of rules (graph_index.cpp)
  switch (n.kind) {
    case Kind::linear:
    case Kind::linear_bias:
      if (rank != 2 || in[1].sizes.size() != 2) return std::nullopt;
      return pcg::Linear{.out = size(1, 1), .has_bias = n.kind == Kind::linear_bias, .activation = activation};
    case Kind::batch_matmul:
      if (rank != 3 || in[1].sizes.size() != 3) return std::nullopt;
      return pcg::BatchMatmul{};
    case Kind::conv:
    case Kind::conv_bias:
      if (rank != 4 || in[1].sizes.size() != 4 || size(0, 1) % size(1, 1) != 0 || size(1, 0) % (size(0, 1) / size(1, 1)) != 0 ||
          kernel(2) % 2 == 0 || kernel(3) % 2 == 0)
        return std::nullopt;
      return pcg::Conv2d{.out = size(1, 0),
                         .rows = {.kernel = kernel(2), .padding = kernel(2) / 2},
                         .columns = {.kernel = kernel(3), .padding = kernel(3) / 2},
                         .groups = static_cast<int>(size(0, 1) / size(1, 1)),
                         .has_bias = n.kind == Kind::conv_bias,
                         .activation = activation};
    case Kind::max_pool:
    case Kind::average_pool:
      return pcg::Pool2d{.kind = n.kind == Kind::max_pool ? pcg::Pool2d::Kind::max : pcg::Pool2d::Kind::average,
                         .rows = {.kernel = 3, .padding = 1},
                         .columns = {.kernel = 3, .padding = 1}};
    case Kind::add: return pcg::Binary{};
    case Kind::multiply: return pcg::Binary{.kind = pcg::Binary::Kind::multiply};
    case Kind::unary: return pcg::Unary{};
    case Kind::dropout: return pcg::Dropout{};
    case Kind::concat: return pcg::Concat{.axis = n.axis};
    case Kind::split0:
    case Kind::split1:
      if (n.axis >= rank || n.at <= 0 || n.at >= size(0, static_cast<std::size_t>(n.axis))) return std::nullopt;
      return pcg::Split{.axis = n.axis, .sizes = {n.at, size(0, static_cast<std::size_t>(n.axis)) - n.at}};
    case Kind::transpose: {
      if (rank < 2) return std::nullopt;
      pcg::Transpose t;
      for (int d = 0; d < rank; ++d) t.permutation.push_back(d);
      std::swap(t.permutation[static_cast<std::size_t>(rank) - 2], t.permutation.back());
      return t;
    }
    case Kind::sum:
      if (n.axis >= rank) return std::nullopt;
      return pcg::Reduction{.axis = n.axis};
    case Kind::softmax: return pcg::Softmax{};
    case Kind::layer_norm: return pcg::LayerNorm{};
    case Kind::rms_norm: return pcg::LayerNorm{.rms = true};
    case Kind::batch_norm: return pcg::BatchNorm{};
    case Kind::embedding:
      if (in[1].sizes.size() != 2) return std::nullopt;
      return pcg::Embedding{.vocabulary = size(1, 0), .width = size(1, 1)};
    case Kind::embedding_bag:
      if (in[1].sizes.size() != 2) return std::nullopt;
      return pcg::EmbeddingBag{.vocabulary = size(1, 0), .width = size(1, 1)};
    case Kind::attention:  // every hidden unit a head of one
      if (rank != 3 || in[0].sizes.back() % 3 != 0) return std::nullopt;
      return pcg::Attention{.heads = in[0].sizes.back() / 3, .kv_heads = in[0].sizes.back() / 3};
    default: return std::nullopt;
  }
}

struct Typed {
  pcg::IterationSpace space;
  TensorShape out;
};

std::optional<Typed> typed(const SmallNode& n, std::span<const TensorShape> in) {
  if (n.kind == Kind::scale) {  // the scalar is on every device: linear in x
    if (in.size() != 2 || !in[1].sizes.empty() || in[0].element != pcg::Element::real) return std::nullopt;
    return Typed{elementwise(in[0], 1, true), in[0]};
  }
  if (n.kind == Kind::enlarge) {
    if (in[0].sizes.size() != 4) return std::nullopt;
    Typed t{elementwise(in[0], 1, true), in[0]};
    for (std::size_t d : {2U, 3U}) {
      if (in[0].sizes[d] > 3 || in[0].sizes[d] % 2 == 0) return std::nullopt;
      t.space.loops[d].cut = pcg::Cut::none;
      t.out.sizes[d] = 3;
    }
    return t;
  }
  if ((n.kind == Kind::add || n.kind == Kind::multiply) && in[0] != in[1]) return std::nullopt;  // no broadcasts here
  const std::optional<pcg::Operator> op = real_operator(n, in);
  if (!op) return std::nullopt;
  const base::Attempt<std::vector<TensorShape>> inferred = pcg::try_infer_shapes(*op, in);
  if (!inferred) return std::nullopt;
  const std::size_t which = n.kind == Kind::split1 ? 1 : 0;
  Typed t{pcg::iteration_space(*op, in, *inferred), (*inferred)[which]};
  t.space.outputs = {t.space.outputs[which]};
  return t;
}

pcg::ParallelOperator movement(const SmallNode& n) {
  switch (n.kind) {
    case Kind::partition: return pcg::Partition{n.axis, n.degree};
    case Kind::combine: return pcg::Combine{n.axis, n.degree};
    case Kind::replicate: return pcg::Replicate{n.degree};
    default: return pcg::Reduce{n.degree};
  }
}

// Most parallel shapes that are tried fail here: it is asked before pcg::try_apply writes a refusal, whose text is not read.
bool divides(const SmallNode& n, const ParallelShape& s) {
  const auto axis = static_cast<std::size_t>(n.axis);
  switch (n.kind) {
    case Kind::partition: return axis < s.dims.size() && s.dims[axis].size % (s.dims[axis].degree * n.degree) == 0;
    case Kind::combine: return axis < s.dims.size() && s.dims[axis].degree % n.degree == 0;
    case Kind::reduce: return s.sum % n.degree == 0;
    default: return true;
  }
}

std::optional<ParallelShape> moved_shape(const SmallNode& n, std::span<const ParallelShape> in) {
  if (n.kind == Kind::summands) {
    if (in[0] != in[1] || in[0].element != pcg::Element::real) return std::nullopt;
    ParallelShape s = in[0];
    s.sum *= 2;
    return s;
  }
  if (n.degree < 2 || !divides(n, in[0])) return std::nullopt;
  const base::Attempt<ParallelShape> moved = pcg::try_apply(movement(n), in[0]);
  return moved ? std::optional(*moved) : std::nullopt;
}

}  // namespace

std::optional<Placed> place(const SmallNode& n, std::span<const ParallelShape> in) {
  std::vector<TensorShape> whole;
  for (const ParallelShape& s : in) whole.push_back(s.whole());
  std::optional<Typed> t = typed(n, whole);
  if (!t) return std::nullopt;
  const std::size_t placed_inputs = t->space.inputs.size();
  const std::optional<pcg::Sharding> s = pcg::infer_sharding(t->space, in.first(placed_inputs));
  if (!s || pcg::violation(t->space, *s, std::span(whole).first(placed_inputs), std::span(&t->out, 1))) return std::nullopt;
  for (std::size_t i = placed_inputs; i < in.size(); ++i)
    if (in[i].shards() != 1) return std::nullopt;  // a scalar
  return Placed{t->space, *s, pcg::output_shape(t->space, *s, 0, t->out)};
}

std::optional<ParallelShape> shape_of(const SmallNode& n, std::span<const ParallelShape> in, std::span<const ParallelShape> variables) {
  std::optional<ParallelShape> shape;
  if (n.kind == Kind::variable) shape = variables[static_cast<std::size_t>(n.variable)];
  else if (is_constant(n.kind)) shape = pcg::unsharded({.sizes = n.like});
  else if (is_layout(n.kind)) shape = moved_shape(n, in);
  else if (std::optional<Placed> p = place(n, in)) shape = std::move(p->shape);
  return shape && shape->shards() <= 4096 ? shape : std::nullopt;
}

}  // namespace rules
