#include "search/rules/semantics/values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/evaluator/field_kernels.hpp"

namespace rules {
namespace {

namespace field = pcg::field;
using field::Hash;
using OperandValues = std::span<const Value* const>;

// Tags keep the stand-ins of different functions apart.
enum Tag : std::uint64_t { kUnary = 301, kDropout, kSoftmax = 304, kNorm, kRmsNorm, kBatchNorm, kAttention, kVariable, kBeyond };

Value blank(std::vector<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t s : sizes) count *= s;
  return {std::move(sizes), std::vector<std::uint32_t>(static_cast<std::size_t>(count))};
}

std::uint32_t apply(Function f, std::uint32_t x) {
  return f == Function::none ? x : Hash(kUnary)(static_cast<std::uint64_t>(f))(x).element();
}

Value linear(const Node& n, OperandValues in) {
  const Value &x = *in[0], &w = *in[1];
  Value y = blank({x.sizes[0], w.sizes[1]});
  std::vector<std::uint64_t> sums(y.elements.size());
  if (n.kind == Kind::linear_bias)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = in[2]->elements[i % in[2]->elements.size()];
  field::add_product({x.sizes[0], x.sizes[1], w.sizes[1]}, x.elements, w.elements, sums);
  for (std::size_t i = 0; i < sums.size(); ++i) y.elements[i] = apply(n.function, field::reduce(sums[i]));
  return y;
}

Value batch_matmul(const Value& a, const Value& b) {
  Value y = blank({a.sizes[0], a.sizes[1], b.sizes[2]});
  std::vector<std::uint64_t> sums(y.elements.size());
  const std::int64_t m = a.sizes[1], k = a.sizes[2], n = b.sizes[2];
  const auto part = [](auto elements, std::int64_t i, std::int64_t size) { return elements.subspan(static_cast<std::size_t>(i * size)); };
  for (std::int64_t i = 0; i < a.sizes[0]; ++i)
    field::add_product({m, k, n}, part(field::Elements(a.elements), i, m * k), part(field::Elements(b.elements), i, k * n),
                       part(field::Sums(sums), i, m * n));
  for (std::size_t i = 0; i < sums.size(); ++i) y.elements[i] = field::reduce(sums[i]);
  return y;
}

// The convolutions and pools of rules have stride 1 and the padding that keeps sizes.
pcg::Window same_padding(std::int64_t kernel) { return {.kernel = static_cast<int>(kernel), .padding = static_cast<int>(kernel / 2)}; }
field::Images images(const Value& x) { return {x.sizes, x.elements}; }

Value conv(const Node& node, OperandValues in) {
  const Value &x = *in[0], &w = *in[1];
  Value y = blank({x.sizes[0], w.sizes[0], x.sizes[2], x.sizes[3]});
  std::vector<std::uint64_t> sums(y.elements.size());
  const auto channels = static_cast<std::size_t>(y.sizes[1]), plane = static_cast<std::size_t>(y.sizes[2] * y.sizes[3]);
  if (node.kind == Kind::conv_bias)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = in[2]->elements[i / plane % channels];
  field::add_convolution({same_padding(w.sizes[2]), same_padding(w.sizes[3])}, images(x), images(w), y.sizes, sums);
  for (std::size_t i = 0; i < sums.size(); ++i) y.elements[i] = apply(node.function, field::reduce(sums[i]));
  return y;
}

Value pool(Kind kind, const Value& x) {
  Value y = blank(x.sizes);
  const pcg::Pool2d::Kind which = kind == Kind::max_pool ? pcg::Pool2d::Kind::max : pcg::Pool2d::Kind::average;
  field::pool(which, {same_padding(3), same_padding(3)}, images(x), y.sizes, y.elements);
  return y;
}

Value concat(std::size_t axis, const Value& x, const Value& y) {
  std::vector<std::int64_t> sizes = x.sizes;
  sizes[axis] += y.sizes[axis];
  Value z = blank(std::move(sizes));
  const field::Around to(z.sizes, axis);
  field::copy_layers({x.sizes, axis}, x.elements, 0, to, z.elements, 0, x.sizes[axis]);
  field::copy_layers({y.sizes, axis}, y.elements, 0, to, z.elements, x.sizes[axis], y.sizes[axis]);
  return z;
}

// [from, to) of an axis.
Value slice(std::size_t axis, const Value& x, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> sizes = x.sizes;
  sizes[axis] = to - from;
  Value z = blank(std::move(sizes));
  field::copy_layers({x.sizes, axis}, x.elements, from, {z.sizes, axis}, z.elements, 0, to - from);
  return z;
}

Value transpose(const Value& x) {
  std::vector<int> permutation(x.sizes.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation.back(), permutation[permutation.size() - 2]);
  Value y = blank(x.sizes);
  std::swap(y.sizes.back(), y.sizes[y.sizes.size() - 2]);
  field::permute(x.sizes, x.elements, permutation, y.elements);
  return y;
}

Value sum(std::size_t axis, const Value& x) {
  std::vector<std::int64_t> sizes = x.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  Value y = blank(std::move(sizes));
  field::sum_along({x.sizes, axis}, x.elements, y.elements);
  return y;
}

// A kernel of 1 x 3 lies in the middle row of 3 x 3.
Value enlarge(const Value& w) {
  Value y = blank({w.sizes[0], w.sizes[1], 3, 3});
  const std::int64_t kh = w.sizes[2], kw = w.sizes[3];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(w.elements.size()); ++i) {
    const std::int64_t at = i % (kh * kw);
    const std::int64_t row = at / kw + (3 - kh) / 2, column = at % kw + (3 - kw) / 2;
    y.elements[static_cast<std::size_t>(i / (kh * kw) * 9 + row * 3 + column)] = w.elements[static_cast<std::size_t>(i)];
  }
  return y;
}

// A block of one element makes a matrix, a block of 3 x 3 a kernel.
Value diagonal(std::int64_t n, const std::vector<std::uint32_t>& block) {
  Value y = blank({n, n});
  if (block.size() > 1) y = blank({n, n, 3, 3});
  for (std::int64_t i = 0; i < n; ++i)
    std::ranges::copy(block, y.elements.begin() + (i * n + i) * static_cast<std::ptrdiff_t>(block.size()));
  return y;
}

// Each row (of `length`) by itself; each element of the result depends on all of it.
Value opaque_rows(Tag tag, const Value& x, std::size_t length, std::size_t result_length) {
  Value y;
  y.sizes = x.sizes;
  for (std::size_t row = 0; row + length <= x.elements.size() && length > 0; row += length) {
    Hash all(tag);
    for (std::size_t i = 0; i < length; ++i) all(x.elements[row + i]);
    for (std::size_t i = 0; i < result_length; ++i) y.elements.push_back(Hash(all.value())(i).element());
  }
  return y;
}

Value normalized(Tag tag, OperandValues in) {
  const std::size_t h = in[1]->elements.size();
  Value y = opaque_rows(tag, *in[0], h, h);
  for (std::size_t i = 0; i < y.elements.size(); ++i) {
    y.elements[i] = field::multiply(y.elements[i], in[1]->elements[i % h]);
    if (in.size() > 2) y.elements[i] = field::add(y.elements[i], in[2]->elements[i % h]);
  }
  return y;
}

// Each element depends on its channel in all samples.
Value batch_norm(OperandValues in) {
  const Value& x = *in[0];
  Value y = x;
  const auto channels = static_cast<std::size_t>(x.sizes[1]), plane = static_cast<std::size_t>(x.sizes[2] * x.sizes[3]);
  for (std::size_t c = 0; c < channels; ++c) {
    Hash all(kBatchNorm);
    const auto each = [&](auto&& visit) {
      for (std::size_t i = 0; i < x.elements.size(); ++i)
        if (i / plane % channels == c) visit(i);
    };
    each([&](std::size_t i) { all(x.elements[i]); });
    each([&](std::size_t i) {
      const std::uint32_t normal = Hash(all.value())(i / (plane * channels))(i % plane).element();
      y.elements[i] = field::add(field::multiply(normal, in[1]->elements[c]), in[2]->elements[c]);
    });
  }
  return y;
}

Value attention(const Value& x) {
  const auto sample = static_cast<std::size_t>(x.sizes[1] * x.sizes[2]);
  Value y = opaque_rows(kAttention, x, sample, sample / 3);
  y.sizes.back() /= 3;
  return y;
}

// An index past the table's end reads some row that only the index and the table's size determine: a graph that asks for rows that another
// does not have differs from it.
Value embedding(Kind kind, const Value& index, const Value& w) {
  const bool bag = kind == Kind::embedding_bag;
  std::vector<std::int64_t> sizes = index.sizes;
  if (bag) sizes.pop_back();
  sizes.push_back(w.sizes[1]);
  Value y = blank(std::move(sizes));
  const auto count = static_cast<std::uint64_t>(w.sizes[0]);
  std::vector<std::int64_t> rows;
  for (const std::uint64_t at : index.elements)
    rows.push_back(static_cast<std::int64_t>(at < count ? at : Hash(kBeyond)(at)(count).value() % count));
  field::add_rows(rows, w.elements, static_cast<std::size_t>(w.sizes[1]), static_cast<std::size_t>(bag ? index.sizes[1] : 1), y.elements);
  return y;
}

template <class F>
Value each(const Value& x, F&& f) {
  Value y = x;
  for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] = f(i, y.elements[i]);
  return y;
}

constexpr std::int64_t kLargest = 2048;  // of what an operator reads: no sum of a hundred products of two wraps around

std::int64_t whole(std::uint32_t element) {
  return element > pcg::field::kPrime / 2 ? static_cast<std::int64_t>(element) - pcg::field::kPrime : static_cast<std::int64_t>(element);
}

std::uint32_t positive(std::uint32_t element) { return whole(element) > 0 ? element : 0; }

Value max_pool(const Value& x) {
  Value y = x;
  const std::int64_t h = x.sizes[2], w = x.sizes[3];
  for (std::int64_t i = 0; i < std::ssize(y.elements); ++i) {
    const std::int64_t plane = i / (h * w) * h * w, row = i / w % h, column = i % w;
    for (std::int64_t r = std::max<std::int64_t>(0, row - 1); r <= std::min(h - 1, row + 1); ++r)
      for (std::int64_t c = std::max<std::int64_t>(0, column - 1); c <= std::min(w - 1, column + 1); ++c) {
        const std::uint32_t other = x.elements[static_cast<std::size_t>(plane + r * w + c)];
        std::uint32_t& most = y.elements[static_cast<std::size_t>(i)];
        if (whole(other) > whole(most)) most = other;
      }
  }
  return y;
}

Value value_at(Node n, OperandValues in, const SmallSizes& sizes) {
  if (n.kind == Kind::max_pool) return max_pool(*in[0]);
  const Function f = std::exchange(n.function, Function::none);
  const Value y = value_of(n, in, sizes);
  if (f == Function::none) return y;
  return each(y,
              [&](std::size_t, std::uint32_t e) { return f == Function::relu2 ? field::multiply(positive(e), positive(e)) : positive(e); });
}

Value small(const Value& x) {
  return each(x, [](std::size_t, std::uint32_t e) { return field::add(e % 5, field::kPrime - 2); });
}

// The values of all nodes, from those of variables and of operators.
template <class OfVariable, class OfOperator>
std::vector<Value> evaluated(const Term& t, OfVariable&& of_variable, OfOperator&& of_operator) {
  std::vector<Value> values;
  values.reserve(t.nodes.size());
  for (const Node& n : t.nodes) {
    std::array<const Value*, 3> in{};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) in[i] = &values[n.inputs[i]];
    values.push_back(n.kind == Kind::variable ? of_variable(n.variable) : of_operator(n, std::span(in).first(n.inputs.size())));
  }
  return values;
}

}  // namespace

SmallSizes::SmallSizes(std::span<const Variable> variables, std::uint64_t seed) {
  std::string letters;
  for (const Variable& v : variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d) letters += letters_of(dim_size(v.types, d)).value_or("");
  std::ranges::sort(letters);
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  base::Random random(seed / 2);
  for (std::size_t i = letters.size(); i > 1; --i) std::swap(letters[i - 1], letters[random.below(i)]);
  if (seed % 2 == 1) std::ranges::reverse(letters);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool last = i > 0 && i + 1 == letters.size();  // larger than the sum of the two smallest
    small_[index_of(letters[i])] = static_cast<std::int64_t>(i) + (last ? 4 : 2);
  }
  constexpr std::array<std::int64_t, 5> kSizesAlone{4, 7, 3, 5, 2};  // large ones first: few equations that are false hold there
  if (letters.size() == 1) small_[index_of(letters[0])] = kSizesAlone[seed % kSizesAlone.size()];
}

std::int64_t SmallSizes::of(const Numbers& typing_sizes) const {
  const std::optional<std::int64_t> size = size_of(small_, typing_sizes);
  if (!size) throw std::logic_error(fmt::format("size {} is no sum of the variables' symbols", typing_sizes[0]));
  return *size;
}

Value value_of(const Variable& v, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed) {
  const auto size_of = [&](const Variable& u, std::size_t d) { return sizes.of(dim_size(u.types, d)); };
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < v.types[0].rank; ++d) dims.push_back(size_of(v, d));
  Value y = blank(std::move(dims));
  const std::uint64_t name = base::hash_text(v.name);
  for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] = Hash(kVariable)(seed)(name)(i).element();
  if (!v.types[0].index) return y;
  std::int64_t rows = 1;
  for (const Variable& u : variables)
    if (u.types[0].rank == 2 && !u.types[0].index) rows = std::max(rows, size_of(u, 0));
  for (std::size_t i = 0; i < y.elements.size(); ++i) {  // spread: some lie within every table, some beyond
    constexpr std::array<std::int64_t, 3> kTimes{1, 9, 3};
    y.elements[i] %= static_cast<std::uint32_t>(rows * kTimes[i % kTimes.size()]);
  }
  return y;
}

Value value_of(const Node& n, OperandValues in, const SmallSizes& sizes) {
  const Value& x = in.empty() ? Value{} : *in[0];
  switch (n.kind) {
    case Kind::linear:
    case Kind::linear_bias: return linear(n, in);
    case Kind::batch_matmul: return batch_matmul(x, *in[1]);
    case Kind::conv:
    case Kind::conv_bias: return conv(n, in);
    case Kind::max_pool:
    case Kind::average_pool: return pool(n.kind, x);
    case Kind::add:
    case Kind::summands: return each(x, [&](std::size_t i, std::uint32_t v) { return field::add(v, in[1]->elements[i]); });
    case Kind::multiply: return each(x, [&](std::size_t i, std::uint32_t v) { return field::multiply(v, in[1]->elements[i]); });
    case Kind::unary: return each(x, [&](std::size_t, std::uint32_t v) { return apply(n.function, v); });
    case Kind::dropout: return each(x, [&](std::size_t i, std::uint32_t v) { return Hash(kDropout)(i)(v).element(); });
    case Kind::scale: return each(x, [&](std::size_t, std::uint32_t v) { return field::multiply(v, in[1]->elements[0]); });
    case Kind::concat: return concat(n.axis, x, *in[1]);
    case Kind::split0: return slice(n.axis, x, 0, sizes.of(n.at));
    case Kind::split1: return slice(n.axis, x, sizes.of(n.at), x.sizes[n.axis]);
    case Kind::transpose: return transpose(x);
    case Kind::sum: return sum(n.axis, x);
    case Kind::enlarge: return enlarge(x);
    case Kind::identity: return diagonal(sizes.of(n.at), {1});
    case Kind::ones: {
      Value y = blank({sizes.of(n.at), sizes.of(n.by)});
      std::ranges::fill(y.elements, 1U);
      return y;
    }
    case Kind::identity_kernel: return diagonal(sizes.of(n.at), {0, 0, 0, 0, 1, 0, 0, 0, 0});
    case Kind::pool_kernel: return diagonal(sizes.of(n.at), std::vector<std::uint32_t>(9, field::inverse(9)));
    case Kind::softmax: return opaque_rows(kSoftmax, x, static_cast<std::size_t>(x.sizes.back()), static_cast<std::size_t>(x.sizes.back()));
    case Kind::layer_norm: return normalized(kNorm, in);
    case Kind::rms_norm: return normalized(kRmsNorm, in);
    case Kind::batch_norm: return batch_norm(in);
    case Kind::embedding:
    case Kind::embedding_bag: return embedding(n.kind, x, *in[1]);
    case Kind::attention: return attention(x);
    case Kind::partition:
    case Kind::combine:
    case Kind::replicate:
    case Kind::reduce: return x;
    case Kind::variable: break;
  }
  throw std::logic_error("a variable has its value already");
}

std::vector<Value> values_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed) {
  return evaluated(
      t, [&](std::size_t v) { return value_of(variables[v], variables, sizes, seed); },
      [&](const Node& n, OperandValues in) { return value_of(n, in, sizes); });
}

std::optional<std::vector<Value>> whole_numbers_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes,
                                                   std::uint64_t seed) {
  std::vector<Value> values = evaluated(
      t,
      [&](std::size_t v) {
        const Value value = value_of(variables[v], variables, sizes, seed);
        return variables[v].types[0].index ? value : small(value);
      },
      [&](const Node& n, OperandValues in) { return value_at(n, in, sizes); });
  const auto is_too_large = [](std::uint32_t e) { return std::abs(whole(e)) > kLargest; };
  for (const Node& n : t.nodes)
    for (const std::uint8_t i : n.inputs)
      if (std::ranges::any_of(values[i].elements, is_too_large)) return std::nullopt;
  return values;
}

}  // namespace rules
