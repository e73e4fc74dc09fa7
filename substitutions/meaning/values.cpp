#include "substitutions/meaning/values.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "pcg/evaluator/field.hpp"

namespace substitutions {
namespace {

namespace field = pcg::field;
using field::Hash;
using Inputs = std::span<const Value* const>;

enum Tag : std::uint64_t { kUnary = 301, kDropout, kMaximum, kSoftmax, kNorm, kRmsNorm, kBatchNorm, kAttention, kVariable, kBeyond };
constexpr std::uint64_t kOutside = std::uint64_t{1} << 40U;  // no value: marks padding in a window's hash

Value blank(std::vector<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t s : sizes) count *= s;
  return {std::move(sizes), std::vector<std::uint32_t>(static_cast<std::size_t>(count))};
}

std::uint32_t apply(Function f, std::uint32_t x) {
  return f == Function::none ? x : Hash(kUnary)(static_cast<std::uint64_t>(f))(x).element();
}

// y[m, n] += x[m, k] . w[k, n], row-major.
void multiply_add(const std::uint32_t* x, const std::uint32_t* w, std::uint32_t* y, std::int64_t m, std::int64_t k, std::int64_t n) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = y[i * n + j];
      for (std::int64_t l = 0; l < k; ++l) sum = field::fold(sum + std::uint64_t{x[i * k + l]} * w[l * n + j]);
      y[i * n + j] = field::reduce(sum);
    }
}

Value linear(const Node& n, Inputs in) {
  const Value &x = *in[0], &w = *in[1];
  Value y = blank({x.sizes[0], w.sizes[1]});
  if (n.kind == Kind::linear_bias)
    for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] = in[2]->elements[i % in[2]->elements.size()];
  multiply_add(x.elements.data(), w.elements.data(), y.elements.data(), x.sizes[0], x.sizes[1], w.sizes[1]);
  for (std::uint32_t& v : y.elements) v = apply(n.function, v);
  return y;
}

Value batch_matmul(const Value& a, const Value& b) {
  Value y = blank({a.sizes[0], a.sizes[1], b.sizes[2]});
  const std::int64_t m = a.sizes[1], k = a.sizes[2], n = b.sizes[2];
  for (std::int64_t i = 0; i < a.sizes[0]; ++i)
    multiply_add(a.elements.data() + i * m * k, b.elements.data() + i * k * n, y.elements.data() + i * m * n, m, k, n);
  return y;
}

// Visits the kh x kw window around (row, column) of an h x w plane: visit(kernel index, plane index), -1 outside.
template <class Visit>
void walk(std::int64_t kh, std::int64_t kw, std::int64_t h, std::int64_t w, std::int64_t row, std::int64_t column, Visit&& visit) {
  for (std::int64_t i = 0; i < kh; ++i)
    for (std::int64_t j = 0; j < kw; ++j) {
      const std::int64_t y = row - kh / 2 + i, x = column - kw / 2 + j;
      visit(i * kw + j, y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x);
    }
}

Value conv(const Node& node, Inputs in) {
  const Value &x = *in[0], &w = *in[1];
  const std::int64_t h = x.sizes[2], v = x.sizes[3], kh = w.sizes[2], kw = w.sizes[3];
  const std::int64_t channels = w.sizes[1], outs = w.sizes[0] / (x.sizes[1] / channels);  // of one group
  Value y = blank({x.sizes[0], w.sizes[0], h, v});
  std::size_t to = 0;
  for (std::int64_t b = 0; b < y.sizes[0]; ++b)
    for (std::int64_t o = 0; o < y.sizes[1]; ++o)
      for (std::int64_t i = 0; i < h * v; ++i) {
        std::uint64_t sum = node.kind == Kind::conv_bias ? in[2]->elements[static_cast<std::size_t>(o)] : 0;
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::uint32_t* plane = x.elements.data() + (b * x.sizes[1] + o / outs * channels + c) * h * v;
          const std::uint32_t* kernel = w.elements.data() + (o * channels + c) * kh * kw;
          walk(kh, kw, h, v, i / v, i % v, [&](std::int64_t k, std::int64_t p) {
            if (p >= 0) sum = field::fold(sum + std::uint64_t{plane[p]} * kernel[k]);
          });
        }
        y.elements[to++] = apply(node.function, field::reduce(sum));
      }
  return y;
}

// 3 x 3 windows; the maximum is an opaque function of a window.
Value pool(Kind kind, const Value& x) {
  static constexpr std::uint32_t kNinth = field::inverse(9);
  Value y = blank(x.sizes);
  const std::int64_t h = x.sizes[2], v = x.sizes[3];
  for (std::size_t i = 0; i < y.elements.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) % (h * v);
    const std::uint32_t* plane = x.elements.data() + i - at;
    std::uint64_t sum = 0;
    Hash maximum(kMaximum);
    walk(3, 3, h, v, at / v, at % v, [&](std::int64_t, std::int64_t p) {
      if (kind == Kind::max_pool) maximum(p < 0 ? kOutside : plane[p]);
      else if (p >= 0) sum += plane[p];
    });
    y.elements[i] = kind == Kind::max_pool ? maximum.element() : field::multiply(field::reduce(sum), kNinth);
  }
  return y;
}

Value concat(std::size_t axis, const Value& x, const Value& y) {
  std::vector<std::int64_t> sizes = x.sizes;
  sizes[axis] += y.sizes[axis];
  Value z;
  z.elements.reserve(x.elements.size() + y.elements.size());
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= sizes[d];
  const auto a = static_cast<std::ptrdiff_t>(x.elements.size()) / outer, b = static_cast<std::ptrdiff_t>(y.elements.size()) / outer;
  for (std::ptrdiff_t o = 0; o < outer; ++o) {
    z.elements.insert(z.elements.end(), x.elements.begin() + o * a, x.elements.begin() + (o + 1) * a);
    z.elements.insert(z.elements.end(), y.elements.begin() + o * b, y.elements.begin() + (o + 1) * b);
  }
  z.sizes = std::move(sizes);
  return z;
}

// [from, to) of an axis.
Value slice(std::size_t axis, const Value& x, std::int64_t from, std::int64_t to) {
  Value z;
  z.sizes = x.sizes;
  z.sizes[axis] = to - from;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < x.sizes.size(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : x.sizes[d];
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto begin = x.elements.begin() + o * x.sizes[axis] * inner;
    z.elements.insert(z.elements.end(), begin + from * inner, begin + to * inner);
  }
  return z;
}

Value transpose(const Value& x) {
  Value y = blank(x.sizes);
  const std::size_t last = x.sizes.size() - 1;
  std::swap(y.sizes[last], y.sizes[last - 1]);
  const auto rows = static_cast<std::size_t>(x.sizes[last - 1]), columns = static_cast<std::size_t>(x.sizes[last]);
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const std::size_t at = i % (rows * columns);
    y.elements[i - at + at % columns * rows + at / columns] = x.elements[i];
  }
  return y;
}

Value sum(std::size_t axis, const Value& x) {
  std::vector<std::int64_t> sizes = x.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  Value y = blank(std::move(sizes));
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < x.sizes.size(); ++d) inner *= static_cast<std::size_t>(x.sizes[d]);
  const std::size_t block = inner * static_cast<std::size_t>(x.sizes[axis]);
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    std::uint32_t& to = y.elements[i / block * inner + i % inner];
    to = field::add(to, x.elements[i]);
  }
  return y;
}

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

Value layer_norm(Inputs in) {
  const std::size_t h = in[1]->elements.size();
  Value y = opaque_rows(kNorm, *in[0], h, h);
  for (std::size_t i = 0; i < y.elements.size(); ++i)
    y.elements[i] = field::add(field::multiply(y.elements[i], in[1]->elements[i % h]), in[2]->elements[i % h]);
  return y;
}

Value rms_norm(Inputs in) {
  const std::size_t h = in[1]->elements.size();
  Value y = opaque_rows(kRmsNorm, *in[0], h, h);
  for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] = field::multiply(y.elements[i], in[1]->elements[i % h]);
  return y;
}

// Each element depends on its channel in all samples.
Value batch_norm(Inputs in) {
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

// An index past the table's end reads some row that only the index and the table's size tell: a graph that asks for rows that another
// does not have differs from it.
Value embedding(Kind kind, const Value& index, const Value& w) {
  const bool bag = kind == Kind::embedding_bag;
  std::vector<std::int64_t> sizes = index.sizes;
  if (bag) sizes.pop_back();
  sizes.push_back(w.sizes[1]);
  Value y = blank(std::move(sizes));
  const auto width = static_cast<std::size_t>(w.sizes[1]);
  const auto group = static_cast<std::size_t>(bag ? index.sizes[1] : 1);
  const auto rows = static_cast<std::size_t>(w.sizes[0]);
  for (std::size_t i = 0; i < index.elements.size(); ++i) {
    const std::size_t at = index.elements[i], row = at < rows ? at : Hash(kBeyond)(at)(rows).value() % rows;
    for (std::size_t e = 0; e < width; ++e) {
      std::uint32_t& to = y.elements[i / group * width + e];
      to = field::add(to, w.elements[row * width + e]);
    }
  }
  return y;
}

template <class F>
Value each(const Value& x, F&& f) {
  Value y = x;
  for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] = f(i, y.elements[i]);
  return y;
}

}  // namespace

Value value_of(const Variable& v, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed) {
  const auto size_of = [&](const Variable& u, std::size_t d) { return sizes.of(dim_size(u.types, d)); };
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < v.types[0].rank; ++d) dims.push_back(size_of(v, d));
  Value y = blank(std::move(dims));
  const std::uint64_t name = field::hash_text(v.name);
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

Value value_of(const Node& n, Inputs in, const SmallSizes& sizes) {
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
    case Kind::layer_norm: return layer_norm(in);
    case Kind::rms_norm: return rms_norm(in);
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
  std::vector<Value> values;
  values.reserve(t.nodes.size());
  for (const Node& n : t.nodes) {
    if (n.kind == Kind::variable) {
      values.push_back(value_of(variables[n.variable], variables, sizes, seed));
      continue;
    }
    std::array<const Value*, 3> in{};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) in[i] = &values[n.inputs[i]];
    values.push_back(value_of(n, std::span(in).first(n.inputs.size()), sizes));
  }
  return values;
}

}  // namespace substitutions
