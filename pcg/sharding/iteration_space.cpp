// The loops of every operator: which dims they index and what cutting them leaves. Names of leading dims: b, s, d2, d3, ...

#include "pcg/sharding/iteration_space.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "pcg/operators/head_dims.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;
using Dims = std::vector<int>;

constexpr int kWhole = -1;  // a dim that is never cut

std::string leading_name(std::size_t dim) { return dim == 0 ? "b" : dim == 1 ? "s" : fmt::format("d{}", dim); }

struct Space : IterationSpace {
  int loop(std::string name, std::int64_t size, Cut cut = Cut::free) {
    loops.push_back({std::move(name), size, cut});
    return static_cast<int>(loops.size()) - 1;
  }
  // One free loop for each of the first `count` dims of a shape.
  Dims leading(const TensorShape& t, std::size_t count) {
    Dims dims;
    for (std::size_t d = 0; d < count; ++d) dims.push_back(loop(leading_name(d), t.sizes[d]));
    return dims;
  }
  // One free loop per dim, the last one named h.
  Dims all(const TensorShape& t) {
    const std::size_t rank = t.sizes.size();
    if (rank < 2) return leading(t, rank);
    Dims dims = leading(t, rank - 1);
    dims.push_back(loop("h", t.sizes.back()));
    return dims;
  }
  // Loops over what comes before a sequence, over its positions, and over heads, which lay out the last dim.
  Dims sequence(const TensorShape& t, Cut positions, std::int64_t heads) {
    const std::size_t at = t.sizes.size() - 2;
    Dims dims;
    for (std::size_t d = 0; d < at; ++d) dims.push_back(loop(d == 0 ? "b" : fmt::format("d{}", d), t.sizes[d]));
    dims.push_back(loop("s", t.sizes[at], positions));
    dims.push_back(loop("heads", heads));
    return dims;
  }
  void forbid(int l) { loops[static_cast<std::size_t>(l)].cut = Cut::none; }
};

Dims with(Dims dims, int loop) {
  dims.push_back(loop);
  return dims;
}

// A source may be cut along any dim: nothing is computed.
Space source(const TensorShape& shape) {
  Space s;
  Dims dims;
  for (std::size_t d = 0; d < shape.sizes.size(); ++d) dims.push_back(s.loop(fmt::format("d{}", d), shape.sizes[d]));
  s.outputs = {dims};
  return s;
}

// Every tensor has the same dims, free but for `axis`.
Space elementwise(Shapes in, Shapes out, bool linear, std::optional<std::size_t> axis = std::nullopt) {
  Space s;
  const Dims dims = s.all(out[0]);
  if (axis) s.forbid(dims[*axis]);
  s.inputs.assign(in.size(), dims);
  s.outputs.assign(out.size(), dims);
  s.linear = linear;
  return s;
}

// A product of its first two inputs; a bias after them lets no sums pass.
std::vector<Passing> factors(Shapes in) {
  std::vector<Passing> alone(in.size(), Passing::no);
  alone[0] = alone[1] = Passing::factor;
  return alone;
}

Space space(const Input& o, Shapes, Shapes) { return source(o.shape); }
Space space(const Weight& o, Shapes, Shapes) { return source(o.shape); }

// The bias is added where the coordinate of k is 0: it is there on all points, and counts once in the sum.
Space space(const Linear& o, Shapes in, Shapes out) {
  Space s;
  const Dims lead = s.leading(in[0], in[0].sizes.size() - 1);
  const int k = s.loop("k", in[0].sizes.back(), o.activation == Activation::none ? Cut::sum : Cut::none);
  const int n = s.loop("n", out[0].sizes.back());
  s.inputs = {with(lead, k), o.transposed_weight ? Dims{n, k} : Dims{k, n}};
  if (o.has_bias) s.inputs.push_back({n});
  s.outputs = {with(lead, n)};
  if (o.activation == Activation::none) s.alone = factors(in);
  return s;
}

// The product is linear in either factor alone, not in both together.
Space space(const BatchMatmul& o, Shapes in, Shapes out) {
  Space s;
  const std::size_t rank = in[0].sizes.size();
  const Dims lead = s.leading(in[0], rank - 2);
  const int m = s.loop("m", in[0].sizes[rank - 2]);
  const int k = s.loop("k", in[0].sizes.back(), Cut::sum);
  const int n = s.loop("n", out[0].sizes.back());
  s.inputs = {with(with(lead, m), k), o.transpose_b ? with(with(lead, n), k) : with(with(lead, k), n)};
  s.outputs = {with(with(lead, m), n)};
  s.alone = factors(in);
  return s;
}

// Rows or columns of an image. They are cut where blocks of the input and of the output begin together; windows that reach over a block's
// end make halos of neighbours necessary.
int spatial(Space& s, const char* name, std::int64_t in, std::int64_t out, const Window& window) {
  const int l = s.loop(name, in, Cut::none);
  if (window.kernel == 0 || in != out * window.stride) return l;
  Loop& loop = s.loops[static_cast<std::size_t>(l)];
  const int after = std::max(0, window.kernel - window.stride - window.padding);
  loop.cut = window.padding == 0 && after == 0 ? Cut::free : Cut::internal;
  loop.least = std::max(1, std::max(window.padding, after));
  return l;
}

// With groups, output channels are cut group by group, and the input's channels alike.
Space space(const Conv2d& o, Shapes in, Shapes out) {
  Space s;
  const int b = s.loop("b", in[0].sizes[0]);
  const bool grouped = o.groups > 1;
  const int c = s.loop("c", in[1].sizes[1], !grouped && o.activation == Activation::none ? Cut::sum : Cut::none);
  const int h = spatial(s, "h", in[0].sizes[2], out[0].sizes[2], o.rows);
  const int w = spatial(s, "w", in[0].sizes[3], out[0].sizes[3], o.columns);
  const int n = s.loop("n", grouped ? o.groups : out[0].sizes[1]);
  s.inputs = {{b, grouped ? n : c, h, w}, {n, c, kWhole, kWhole}};
  if (o.has_bias) s.inputs.push_back({n});
  s.outputs = {{b, n, h, w}};
  if (o.activation == Activation::none) s.alone = factors(in);
  return s;
}

Space space(const Pool2d& o, Shapes in, Shapes out) {
  Space s;
  const int b = s.loop("b", in[0].sizes[0]), c = s.loop("c", in[0].sizes[1]);
  const int h = spatial(s, "h", in[0].sizes[2], out[0].sizes[2], o.rows);
  const Dims dims{b, c, h, spatial(s, "w", in[0].sizes[3], out[0].sizes[3], o.columns)};
  s.inputs = {dims};
  s.outputs = {dims};
  s.linear = o.kind == Pool2d::Kind::average;
  return s;
}

Space space(const LayerNorm&, Shapes in, Shapes) {
  Space s;
  const Dims dims = s.all(in[0]);
  s.forbid(dims.back());
  s.inputs.assign(in.size(), {dims.back()});
  s.inputs[0] = dims;
  s.outputs = {dims};
  return s;
}

// Statistics are of the whole batch: cutting samples, rows or columns makes it a synchronised batch norm.
Space space(const BatchNorm&, Shapes in, Shapes) {
  Space s;
  const int b = s.loop("b", in[0].sizes[0], Cut::internal);
  const int c = s.loop("c", in[0].sizes[1]);
  const Dims dims{b, c, s.loop("h", in[0].sizes[2], Cut::internal), s.loop("w", in[0].sizes[3], Cut::internal)};
  s.inputs = {dims, {c}, {c}};
  s.outputs = {dims};
  return s;
}

Space space(const Softmax& o, Shapes in, Shapes out) { return elementwise(in, out, false, resolve_axis(o.axis, in[0].sizes.size())); }

// heads counts the groups of a key and value head with their queries: every hidden dim is laid out by it.
Space space(const Attention& o, Shapes in, Shapes) {
  Space s;
  const Dims dims = s.sequence(in[0], Cut::internal, o.kv_heads);
  const int heads = dims.back();
  s.inputs.assign(attention_activations(o), dims);
  if (o.latent) s.inputs[2].back() = kWhole;  // what all heads share
  if (o.qk_norm) s.inputs.insert(s.inputs.end(), 2, {kWhole});
  if (o.sinks) s.inputs.push_back({heads});
  if (o.has_bias) s.inputs.push_back({kWhole, heads});
  s.outputs = {dims};
  return s;
}

// heads counts the groups with their heads: every hidden dim is laid out by it. Positions are scanned one after another.
Space space(const StateSpace& o, Shapes in, Shapes) {
  Space s;
  const Dims dims = s.sequence(in[0], Cut::none, o.groups);
  const int heads = dims.back();
  s.inputs = {dims, {heads, kWhole}, {heads}, {heads}, {heads}, {heads}, {heads}};
  s.outputs = {dims};
  return s;
}

// A point that holds a part of the vocabulary gives 0 for the indices that it does not hold.
Space space(const Embedding& o, Shapes in, Shapes) {
  Space s;
  const Dims lead = s.leading(in[0], in[0].sizes.size());
  const int v = s.loop("v", o.vocabulary, Cut::sum);
  const int n = s.loop("n", o.width);
  s.inputs = {lead, {v, n}};
  s.outputs = {with(lead, n)};
  s.alone = {Passing::no, Passing::factor};
  return s;
}

Space space(const EmbeddingBag& o, Shapes in, Shapes) {
  Space s;
  const int b = s.loop("b", in[0].sizes[0]);
  const int bag = s.loop("bag", in[0].sizes[1], Cut::sum);
  const int v = s.loop("v", o.vocabulary, Cut::sum);
  const int n = s.loop("n", o.width);
  s.inputs = {{b, bag}, {v, n}};
  s.outputs = {{b, n}};
  s.alone = {Passing::no, Passing::factor};
  return s;
}

Space space(const Unary& o, Shapes in, Shapes out) {
  return elementwise(in, out, o.kind == Unary::Kind::scale || o.kind == Unary::Kind::identity);
}

Space space(const Binary& o, Shapes in, Shapes out) {
  Space s = elementwise(in, out, o.kind != Binary::Kind::multiply);
  const std::size_t missing = in[0].sizes.size() - in[1].sizes.size();
  Dims& b = s.inputs[1];
  b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(missing));
  for (std::size_t d = 0; d < b.size(); ++d)
    if (in[1].sizes[d] == 1) b[d] = kWhole;
  s.alone.assign(2, s.linear ? Passing::addend : Passing::factor);
  return s;
}

Space space(const Concat& o, Shapes in, Shapes out) { return elementwise(in, out, true, resolve_axis(o.axis, in[0].sizes.size())); }
Space space(const Split& o, Shapes in, Shapes out) { return elementwise(in, out, true, resolve_axis(o.axis, in[0].sizes.size())); }
Space space(const Slice& o, Shapes in, Shapes out) { return elementwise(in, out, true, resolve_axis(o.axis, in[0].sizes.size())); }

// Dims are matched in runs of equal product ([12] and [3, 4]). Of a run the outermost dims may be cut: as the data are row-major, a
// block of one is a block of the other.
Space space(const Reshape&, Shapes in, Shapes out) {
  Space s;
  s.linear = true;
  const std::vector<std::int64_t>& x = in[0].sizes;
  const std::vector<std::int64_t>& y = out[0].sizes;
  Dims from(x.size(), kWhole), to(y.size(), kWhole);
  std::size_t i = 0, j = 0, runs = 0;
  while (i < x.size() && j < y.size()) {
    while (i < x.size() && x[i] == 1 && y[j] != 1) ++i;
    while (j < y.size() && i < x.size() && y[j] == 1 && x[i] != 1) ++j;
    if (i >= x.size() || j >= y.size()) break;
    const int l = s.loop(leading_name(runs++), std::gcd(x[i], y[j]));
    from[i] = to[j] = l;
    std::int64_t left = x[i++], right = y[j++];
    while (left != right) {
      if (left < right) left *= x[i++];
      else right *= y[j++];
    }
  }
  s.inputs = {from};
  s.outputs = {to};
  return s;
}

Space space(const Transpose& o, Shapes in, Shapes) {
  Space s;
  const Dims dims = s.all(in[0]);
  Dims to;
  for (int p : o.permutation) to.push_back(dims[static_cast<std::size_t>(p)]);
  s.inputs = {dims};
  s.outputs = {to};
  s.linear = true;
  return s;
}

Space space(const Broadcast& o, Shapes in, Shapes out) {
  Space s = elementwise(in, out, true);
  s.inputs[0][resolve_axis(o.axis, in[0].sizes.size())] = kWhole;
  return s;
}

Space space(const Dropout&, Shapes in, Shapes out) { return elementwise(in, out, false); }

Space space(const Reduction& o, Shapes in, Shapes) {
  Space s;
  Dims dims = s.all(in[0]);
  const std::size_t axis = resolve_axis(o.axis, dims.size());
  s.loops[axis].cut = Cut::sum;
  s.inputs = {dims};
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  s.outputs = {dims};
  s.linear = true;
  return s;
}

Space space(const CrossEntropy&, Shapes in, Shapes) {
  Space s;
  const Dims lead = s.leading(in[1], in[1].sizes.size());
  s.inputs = {with(lead, s.loop("class", in[0].sizes.back(), Cut::internal)), lead};
  s.outputs = {lead};
  return s;
}

Space space(const SquaredError&, Shapes in, Shapes out) { return elementwise(in, out, false); }

// One point for each summand: it holds what it is given.
Space space(const Summands& o, Shapes in, Shapes out) {
  Space s = elementwise(in, out, true);
  s.parts = o.parts;
  return s;
}

// A slice of the sequence has its own places at every expert, so s cuts both. Which tokens an expert takes depends on all gates of their
// slice: the experts are not cut here.
Space moe(const TensorShape& gates, std::int64_t places, std::int64_t width) {
  Space s;
  s.loop("b", gates.sizes[0]);
  s.loop("s", std::gcd(gates.sizes[1], places));
  s.loop("experts", gates.sizes[2], Cut::none);
  s.loop("h", width);
  return s;
}
Space space(const MoeDispatch&, Shapes in, Shapes out) {
  Space s = moe(in[1], out[0].sizes[2], in[0].sizes[2]);
  s.inputs = {{0, 1, 3}, {0, 1, 2}};
  s.outputs = {{2, 0, 1, 3}};
  return s;
}
Space space(const MoeCombine&, Shapes in, Shapes) {
  Space s = moe(in[1], in[0].sizes[2], in[0].sizes[3]);
  s.inputs = {{2, 0, 1, 3}, {0, 1, 2}};
  s.outputs = {{0, 1, 3}};
  return s;
}

Space space(const ExpertLinear& o, Shapes in, Shapes) {
  Space s;
  const std::vector<std::int64_t>& x = in[0].sizes;
  const int e = s.loop("experts", x[0]);
  const int b = s.loop("b", x[1]);
  const int c = s.loop("c", x[2]);
  const int k = s.loop("k", x[3], o.activation == Activation::none ? Cut::sum : Cut::none);
  const int n = s.loop("n", o.out);
  s.inputs = {{e, b, c, k}, {e, k, n}};
  if (o.has_bias) s.inputs.push_back({e, n});
  s.outputs = {{e, b, c, n}};
  if (o.activation == Activation::none) s.alone = factors(in);
  return s;
}

}  // namespace

IterationSpace iteration_space(const Operator& op, std::span<const TensorShape> inputs) {
  return iteration_space(op, inputs, infer_shapes(op, inputs));
}

IterationSpace iteration_space(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs) {
  return std::visit([&](const auto& o) -> IterationSpace { return space(o, inputs, outputs); }, op);
}

int find_loop(const IterationSpace& space, std::string_view name) {
  const auto at = std::ranges::find(space.loops, name, &Loop::name);
  return at == space.loops.end() ? -1 : static_cast<int>(at - space.loops.begin());
}

}  // namespace pcg
