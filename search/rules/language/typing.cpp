#include "search/rules/language/typing.hpp"

#include <algorithm>

namespace rules {
namespace {

// --- from the layouts of an operator's inputs to that of its output, through the loops of its definition (as pcg::IterationSpace) ---

enum class Cut : std::uint8_t { free, sum, none };  // pcg::Cut; `internal` cuts are free here

constexpr int kWhole = -1;  // a dim that is never cut
using Dims = std::array<std::int8_t, kMostRank>;
using Inputs = std::span<const Type* const>;

// The loop that indexes each dim. Dims beyond a tensor's rank are not looked at.
struct Space {
  std::array<Cut, 5> cut{};
  int loops = 0;
  std::array<Dims, 3> inputs{};
  Dims output{};
  bool linear = false;          // summands pass through, of all inputs at once
  std::array<bool, 3> alone{};  // or of this one, while the others have copies for them (pcg::Passing)

  std::int8_t loop(Cut c = Cut::free) {
    cut[static_cast<std::size_t>(loops)] = c;
    return static_cast<std::int8_t>(loops++);
  }
};

// The summands that pass through an operator: of all inputs, which have equally many, or of one.
std::optional<std::int64_t> passing(const Space& s, Inputs in) {
  std::int64_t count = 1;
  std::size_t with = 0, last = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]->summands == 1) continue;
    if (count != 1 && in[i]->summands != count) return std::nullopt;
    count = in[i]->summands;
    last = i;
    ++with;
  }
  return with == 0 || (s.linear && with == in.size()) || (with == 1 && s.alone[last]) ? std::optional(count) : std::nullopt;
}

// One free loop per dim but `uncut`, for every input.
Space elementwise(const Type& t, int uncut = -1) {
  Space s;
  for (int i = 0; i < t.rank; ++i) s.output[static_cast<std::size_t>(i)] = s.loop(i == uncut ? Cut::none : Cut::free);
  s.inputs.fill(s.output);
  return s;
}

Space linear_elementwise(const Type& t, int uncut = -1) {
  Space s = elementwise(t, uncut);
  s.linear = true;
  return s;
}

// The output with its layout; it comes with rank and sizes. Nullopt: the inputs' layouts do not go together, or cut what may not be.
std::optional<Type> lay_out(const Space& s, Inputs in, Type out) {
  std::array<std::int64_t, 5> degree{};  // of loops; 0: not known yet
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t d = 0; d < in[i]->rank; ++d) {
      const std::int64_t cut = in[i]->degree[d];
      const std::int8_t l = s.inputs[i][d];
      if (l == kWhole) {
        if (cut != 1) return std::nullopt;
        continue;
      }
      std::int64_t& known = degree[static_cast<std::size_t>(l)];
      if (known != 0 && known != cut) return std::nullopt;
      if (cut != 1 && s.cut[static_cast<std::size_t>(l)] == Cut::none) return std::nullopt;
      known = cut;
    }
  const std::optional<std::int64_t> sums = passing(s, in);
  if (!sums) return std::nullopt;
  const auto missing = [&](const Dims& dims, std::size_t rank, bool summed) {  // product of the degrees of loops that a tensor lacks
    std::int64_t product = 1;
    for (int l = 0; l < s.loops; ++l) {
      const auto at = static_cast<std::size_t>(l);
      if ((s.cut[at] == Cut::sum) == summed && std::find(dims.begin(), dims.begin() + rank, l) == dims.begin() + rank)
        product *= degree[at];
    }
    return product;
  };
  std::int64_t copies = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t beside = in[i]->summands == *sums ? 1 : *sums;
    const std::int64_t absent = beside * missing(s.inputs[i], in[i]->rank, false) * missing(s.inputs[i], in[i]->rank, true);
    if (in[i]->copies % absent != 0 || (i > 0 && in[i]->copies / absent != copies)) return std::nullopt;
    copies = in[i]->copies / absent;
  }
  for (std::size_t d = 0; d < out.rank; ++d) {
    const std::int8_t l = s.output[d];
    out.degree[d] = l == kWhole ? 1 : degree[static_cast<std::size_t>(l)];
    if (out.size[d] % out.degree[d] != 0) return std::nullopt;
  }
  out.copies = copies * missing(s.output, out.rank, false);
  out.summands = *sums * missing(s.output, out.rank, true);
  return out;
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
Type sizes_of(const Type& t) { return {.rank = t.rank, .index = t.index, .size = t.size}; }
Type resized(const Type& like, std::size_t dim, std::int64_t size) {
  Type t = sizes_of(like);
  t.size[dim] = size;
  return t;
}

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
  return groups > 1 && groups % w.degree[0] != 0 ? std::nullopt : lay_out(s, in, sized({x.size[0], w.size[0], x.size[2], x.size[3]}));
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

// Gains and biases, where there are any, lie along one dim.
std::optional<Type> normalized(Inputs in, std::size_t along, int uncut = -1) {
  const Type& x = *in[0];
  for (const Type* t : in.subspan(1))
    if (t->rank != 1 || t->size[0] != x.size[along]) return std::nullopt;
  Space s = elementwise(x, uncut);
  s.inputs[1] = s.inputs[2] = Dims{s.output[along]};
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
  s.output[last] = e;
  s.alone[1] = true;
  Type out = resized(i, last, w.size[1]);
  out.rank = static_cast<std::uint8_t>(last + 1);
  out.index = false;
  return lay_out(s, in, out);
}

// Heads are laid out along the last dim, so it is cut by heads.
std::optional<Type> attention(Inputs in) {
  const Type& x = *in[0];
  return x.rank != 3 || x.size[2] % 3 != 0 ? std::nullopt : lay_out(elementwise(x), in, resized(x, 2, x.size[2] / 3));
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

// Nullopt where one size need not divide by the other, whatever the symbols are: 6k / 2k = 3, 6k / 3 = 2k.
std::optional<Numbers> quotient(const Numbers& whole, const Numbers& part) {
  if (part == Numbers{1, 1, 1}) return whole;
  Numbers q;
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (whole[a] % part[a] != 0) return std::nullopt;
    q[a] = whole[a] / part[a];
  }
  return letters_of(q) ? std::optional(q) : std::nullopt;
}

constexpr SizeCondition kOutside{"cuts outside its tensor", "write the size that is cut as a sum of both parts, e.g. [m+n, k] cut after m"};
constexpr SizeCondition kChannels{"reads channels that are no multiple of its kernel's",
                                  "use one letter: [n, c, h, w] with [o, c, 3, 3], in two groups [n, 2c, h, w] with [2o, c, 3, 3]"};
constexpr SizeCondition kGroups{"has a kernel whose outputs are no multiple of its groups",
                                "a kernel of two groups is e.g. [2o, c, 3, 3], one of a channel each [c, 1, 3, 3]"};
constexpr SizeCondition kHeads{"reads a last dim that is no multiple of 3", "queries, keys and values lie side by side: e.g. [b, s, 3h]"};

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
      if (std::ranges::any_of(in, &Type::index)) return std::nullopt;
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
    case Kind::layer_norm:
    case Kind::rms_norm: return in[0]->rank < 1 ? std::nullopt : normalized(in, in[0]->rank - 1U, in[0]->rank - 1);
    case Kind::batch_norm: return in[0]->rank == 4 ? normalized(in, 1) : std::nullopt;
    case Kind::attention: return attention(in);
    case Kind::summands: return summands(in);
    default: return std::nullopt;
  }
}

std::optional<Types> type_of(const Node& n, std::span<const Types* const> inputs) {
  Types result;
  const Numbers degree = values(n.degree);
  std::array<const Type*, 3> in{};
  for (std::size_t a = 0; a < kAssignments; ++a) {
    for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = &(*inputs[i])[a];
    const std::optional<Type> t = type_in(n, std::span(in).first(inputs.size()), {.degree = degree[a], .at = n.at[a], .by = n.by[a]});
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

std::optional<SizeCondition> size_condition(const Node& n, std::span<const Types> types) {
  const auto size = [&](std::size_t input, std::size_t dim) { return dim_size(types[n.inputs[input]], dim); };
  if (is_split(n.kind) && (!letters_of(n.at) || !letters_of(minus(size(0, n.axis), n.at)))) return kOutside;
  if (is_convolution(n.kind)) {
    const auto groups = quotient(size(0, 1), size(1, 1));
    if (!groups) return kChannels;
    if (!quotient(size(1, 0), *groups)) return kGroups;
  }
  if (n.kind == Kind::attention && !quotient(size(0, 2), {3, 3, 3})) return kHeads;
  return std::nullopt;
}

}  // namespace rules
