#include "search/rules/language/typing.hpp"

#include <algorithm>

#include "search/rules/language/layout.hpp"

namespace rules {
namespace {

Dims with(Dims dims, std::size_t at, std::int8_t loop) {
  dims[at] = loop;
  return dims;
}

// Layouts are apart: lay_out() holds those of the inputs against each other.
bool same_sizes(const Type& a, const Type& b) { return a.rank == b.rank && a.index == b.index && a.size == b.size; }

Type sized(std::initializer_list<std::int64_t> sizes) {
  Type t;
  for (const std::int64_t s : sizes) t.size[t.rank++] = s;
  return t;
}
Type whole(std::initializer_list<std::int64_t> sizes) {
  Type t = sized(sizes);
  std::fill_n(t.degree.begin(), t.rank, 1);
  return t;
}
Type resized(const Type& like, std::size_t dim, std::int64_t size) {
  Type t;
  t.rank = like.rank;
  t.index = like.index;
  t.size = like.size;
  t.size[dim] = size;
  return t;
}
Type sizes_of(const Type& t) { return resized(t, 0, t.size[0]); }

std::optional<Type> linear(const Node& n, Inputs in) {
  const Type &x = *in[0], &w = *in[1];
  if (x.rank != 2 || w.rank != 2 || x.size[1] != w.size[0] || !is_built_in(n.function)) return std::nullopt;
  if (n.kind == Kind::linear_bias && (in[2]->rank != 1 || in[2]->size[0] != w.size[1])) return std::nullopt;
  Space s;
  const std::int8_t m = s.loop(), k = s.loop(n.function == Function::none ? Cut::sum : Cut::none), o = s.loop();
  s.inputs = {Dims{m, k}, Dims{k, o}, Dims{o}};
  s.output = {m, o};
  s.alone[0] = s.alone[1] = n.function == Function::none;
  return lay_out(s, in, sized({x.size[0], w.size[1]}));
}

// A product is linear in either factor alone: summands of one pass while the other has copies for them.
std::optional<Type> batch_matmul(Inputs in) {
  const Type &a = *in[0], &b = *in[1];
  if (a.rank != 3 || b.rank != 3 || a.size[0] != b.size[0] || a.size[2] != b.size[1]) return std::nullopt;
  Space s;
  const std::int8_t batch = s.loop(), m = s.loop(), k = s.loop(Cut::sum), n = s.loop();
  s.inputs = {Dims{batch, m, k}, Dims{batch, k, n}};
  s.output = {batch, m, n};
  s.alone = {true, true};
  return lay_out(s, in, sized({a.size[0], a.size[1], b.size[2]}));
}

bool is_kernel(const Type& w) { return w.rank == 4 && (w.size[2] == 1 || w.size[2] == 3) && (w.size[3] == 1 || w.size[3] == 3); }

// With groups, output channels are cut group by group, and the input's channels alike. Rows and columns may be cut: what a window reads
// beyond its block comes from neighbours, inside the operator.
std::optional<Type> conv(const Node& n, Inputs in) {
  const Type &x = *in[0], &w = *in[1];
  if (x.rank != 4 || !is_kernel(w) || x.size[1] % w.size[1] != 0 || !is_built_in(n.function)) return std::nullopt;
  const std::int64_t groups = x.size[1] / w.size[1];
  if (w.size[0] % groups != 0) return std::nullopt;
  if (n.kind == Kind::conv_bias && (in[2]->rank != 1 || in[2]->size[0] != w.size[0])) return std::nullopt;
  Space s;
  const std::int8_t b = s.loop(), c = s.loop(groups == 1 && n.function == Function::none ? Cut::sum : Cut::none), o = s.loop();
  const std::int8_t h = s.loop(), v = s.loop();
  s.inputs = {Dims{b, groups == 1 ? c : o, h, v}, Dims{o, c, kWhole, kWhole}, Dims{o}};
  s.output = {b, o, h, v};
  s.alone[0] = s.alone[1] = n.function == Function::none;
  if (groups > 1 && groups % w.degree[0] != 0) return std::nullopt;
  return lay_out(s, in, sized({x.size[0], w.size[0], x.size[2], x.size[3]}));
}

// Pools, and `enlarge`: a kernel's rows and columns stay whole.
std::optional<Type> spatial(const Node& n, Inputs in) {
  if (in[0]->rank != 4 || (n.kind == Kind::enlarge && !is_kernel(*in[0]))) return std::nullopt;
  Space s = n.kind == Kind::max_pool ? elementwise(*in[0]) : linear_elementwise(*in[0]);
  Type out = sizes_of(*in[0]);
  if (n.kind == Kind::enlarge) {
    s.cut[2] = s.cut[3] = Cut::none;
    out.size[2] = out.size[3] = 3;
  }
  return lay_out(s, in, out);
}

std::optional<Type> product_or_sum(Kind k, Inputs in) {
  if (!same_sizes(*in[0], *in[1])) return std::nullopt;
  Space s = k == Kind::add ? linear_elementwise(*in[0]) : elementwise(*in[0]);
  s.alone = {true, true};
  return lay_out(s, in, sizes_of(*in[0]));
}

std::optional<Type> sum(const Node& n, Inputs in) {
  const Type& x = *in[0];
  if (n.axis >= x.rank) return std::nullopt;
  Space s = linear_elementwise(x);
  s.cut[n.axis] = Cut::sum;
  Type out;
  for (std::size_t d = 0; d < x.rank; ++d) {
    if (d == n.axis) continue;
    s.output[out.rank] = s.inputs[0][d];
    out.size[out.rank++] = x.size[d];
  }
  return lay_out(s, in, out);
}

std::optional<Type> concat(const Node& n, Inputs in) {
  const Type &x = *in[0], &y = *in[1];
  if (n.axis >= x.rank || !same_sizes(x, resized(y, n.axis, x.size[n.axis]))) return std::nullopt;
  return lay_out(linear_elementwise(x, n.axis), in, resized(x, n.axis, x.size[n.axis] + y.size[n.axis]));
}

std::optional<Type> split(const Node& n, Inputs in, std::int64_t at) {
  const Type& x = *in[0];
  if (n.axis >= x.rank || at <= 0 || at >= x.size[n.axis]) return std::nullopt;
  return lay_out(linear_elementwise(x, n.axis), in, resized(x, n.axis, n.kind == Kind::split0 ? at : x.size[n.axis] - at));
}

std::optional<Type> transpose(Inputs in) {
  const Type& x = *in[0];
  if (x.rank < 2) return std::nullopt;
  Space s = linear_elementwise(x);
  Type out = sizes_of(x);
  std::swap(s.output[x.rank - 1U], s.output[x.rank - 2U]);
  std::swap(out.size[x.rank - 1U], out.size[x.rank - 2U]);
  return lay_out(s, in, out);
}

// With a bias or without.
std::optional<Type> layer_norm(Inputs in) {
  const Type& x = *in[0];
  if (x.rank < 1) return std::nullopt;
  for (const Type* t : in.subspan(1))
    if (t->rank != 1 || t->size[0] != x.size[x.rank - 1U]) return std::nullopt;
  Space s = elementwise(x, x.rank - 1);
  s.inputs[1] = s.inputs[2] = Dims{s.output[x.rank - 1U]};
  return lay_out(s, in, sizes_of(x));
}

std::optional<Type> batch_norm(Inputs in) {
  const Type& x = *in[0];
  if (x.rank != 4) return std::nullopt;
  for (const Type* t : in.subspan(1))
    if (t->rank != 1 || t->size[0] != x.size[1]) return std::nullopt;
  Space s = elementwise(x);
  s.inputs[1] = s.inputs[2] = Dims{s.output[1]};
  return lay_out(s, in, sizes_of(x));
}

std::optional<Type> embedding(const Node& n, Inputs in) {
  const Type &i = *in[0], &w = *in[1];
  const bool bag = n.kind == Kind::embedding_bag;
  if (!i.index || w.index || w.rank != 2 || i.rank < 1 || i.rank >= kMostRank || (bag && i.rank != 2)) return std::nullopt;
  Space s = elementwise(i);
  if (bag) s.cut[1] = Cut::sum;
  const std::int8_t v = s.loop(Cut::sum), e = s.loop();
  const std::size_t last = bag ? 1 : i.rank;
  s.inputs[1] = {v, e};
  s.output = with(s.output, last, e);
  s.alone[1] = true;
  Type out = resized(i, last, w.size[1]);
  out.rank = static_cast<std::uint8_t>(last + 1);
  out.index = false;
  return lay_out(s, in, out);
}

// Heads are laid out along the last dim, so it is cut by heads.
std::optional<Type> attention(Inputs in) {
  const Type& x = *in[0];
  if (x.rank != 3 || x.size[2] % 3 != 0) return std::nullopt;
  return lay_out(elementwise(x), in, resized(x, 2, x.size[2] / 3));
}

std::optional<Type> moved(const Node& n, Type t, std::int64_t degree) {
  if (has_axis(n.kind) && n.axis >= t.rank) return std::nullopt;
  const auto divide = [&](std::int64_t& from) {
    if (from % degree != 0) return false;
    from /= degree;
    return true;
  };
  std::int64_t& cut = t.degree[n.axis];
  switch (n.kind) {
    case Kind::partition:
      cut *= degree;
      if (t.size[n.axis] % cut != 0) return std::nullopt;
      return t;
    case Kind::combine: return divide(cut) ? std::optional(t) : std::nullopt;
    case Kind::replicate: t.copies *= degree; return t;
    default: return divide(t.summands) ? std::optional(t) : std::nullopt;
  }
}

std::optional<Type> summands(Inputs in) {
  if (*in[0] != *in[1]) return std::nullopt;
  Type t = *in[0];
  t.summands *= 2;
  return t;
}

bool holds_index(Inputs in) {
  return std::ranges::any_of(in, [](const Type* t) { return t->index; });
}

}  // namespace

std::optional<Type> type_in(const Node& n, Inputs in, const NodeNumbers& numbers) {
  switch (n.kind) {  // what may move indices about
    case Kind::concat: return concat(n, in);
    case Kind::split0:
    case Kind::split1: return split(n, in, numbers.at);
    case Kind::partition:
    case Kind::combine:
    case Kind::replicate:
    case Kind::reduce: return moved(n, *in[0], numbers.degree);
    case Kind::embedding:
    case Kind::embedding_bag: return embedding(n, in);
    default:
      if (holds_index(in)) return std::nullopt;
  }
  switch (n.kind) {
    case Kind::linear:
    case Kind::linear_bias: return linear(n, in);
    case Kind::batch_matmul: return batch_matmul(in);
    case Kind::conv:
    case Kind::conv_bias: return conv(n, in);
    case Kind::max_pool:
    case Kind::average_pool:
    case Kind::enlarge: return spatial(n, in);
    case Kind::add:
    case Kind::multiply: return product_or_sum(n.kind, in);
    case Kind::unary:
    case Kind::dropout: return lay_out(elementwise(*in[0]), in, sizes_of(*in[0]));
    case Kind::scale:
      if (*in[1] != Type{}) return std::nullopt;
      return lay_out(linear_elementwise(*in[0]), in.first(1), sizes_of(*in[0]));
    case Kind::transpose: return transpose(in);
    case Kind::sum: return sum(n, in);
    case Kind::identity: return whole({numbers.at, numbers.at});
    case Kind::ones: return whole({numbers.at, numbers.by});
    case Kind::identity_kernel:
    case Kind::pool_kernel: return whole({numbers.at, numbers.at, 3, 3});
    case Kind::softmax:
      if (in[0]->rank < 1) return std::nullopt;
      return lay_out(elementwise(*in[0], in[0]->rank - 1), in, sizes_of(*in[0]));
    case Kind::layer_norm:
    case Kind::rms_norm: return layer_norm(in);
    case Kind::batch_norm: return batch_norm(in);
    case Kind::attention: return attention(in);
    case Kind::summands: return summands(in);
    default: return std::nullopt;
  }
}

std::optional<Types> type_of(const Node& n, std::span<const Types* const> inputs) {
  Types result;
  std::array<const Type*, 3> in{};
  for (std::size_t a = 0; a < kAssignments; ++a) {
    for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = &(*inputs[i])[a];
    const std::optional<Type> t =
        type_in(n, std::span(in).first(inputs.size()), {.degree = value(n.degree, static_cast<int>(a)), .at = n.at[a], .by = n.by[a]});
    if (!t) return std::nullopt;
    result[a] = *t;
  }
  return result;
}

std::optional<std::vector<Types>> types_of(const Term& t, std::span<const Variable> variables) {
  std::vector<Types> types;
  types.reserve(t.nodes.size());
  for (const Node& n : t.nodes) {
    if (n.kind == Kind::variable) {
      types.push_back(variables[n.variable].types);
      continue;
    }
    std::array<const Types*, 3> in{};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) in[i] = &types[n.inputs[i]];
    std::optional<Types> type = type_of(n, std::span(in).first(n.inputs.size()));
    if (!type) return std::nullopt;
    types.push_back(*type);
  }
  return types;
}

}  // namespace rules
