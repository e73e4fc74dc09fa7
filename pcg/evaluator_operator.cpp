#include "pcg/evaluator_operator.hpp"

#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "pcg/field.hpp"

namespace pcg {
namespace {

using field::Hash;
using Sizes = std::vector<std::int64_t>;

// Tags keep the stand-ins of different functions apart.
enum Tag : std::uint64_t { kActivation = 1, kUnary, kFactor, kLayerNorm, kRmsNorm, kBatchNorm, kSoftmax, kDropout, kLoss, kDispatch, kCombine };

std::size_t resolve(int axis, std::size_t rank) { return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis); }

std::int64_t product(const Sizes& s, std::size_t begin, std::size_t end) {
  std::int64_t p = 1;
  for (std::size_t d = begin; d < end; ++d) p *= s[d];
  return p;
}

// A tensor seen around one axis: value (o, a, i) lies at (o * axis + a) * inner + i.
struct Around {
  std::int64_t outer, axis, inner;
  Around(const Sizes& s, std::size_t d) : outer(product(s, 0, d)), axis(s[d]), inner(product(s, d + 1, s.size())) {}
  [[nodiscard]] std::size_t at(std::int64_t o, std::int64_t a, std::int64_t i) const { return static_cast<std::size_t>((o * axis + a) * inner + i); }
};

FieldTensor blank(const OutputPiece& out) { return {out.shape, std::vector<std::uint32_t>(static_cast<std::size_t>(out.shape.elements()))}; }

// acc[m, n] += x[m, k] . w[k, n] (w[n, k] if transposed). Sums of folded products stay below 2^64 for fewer than 2^32 terms.
void multiply_add(const std::uint32_t* x, const std::uint32_t* w, bool transposed, std::int64_t m, std::int64_t k, std::int64_t n, std::uint64_t* acc) {
  const std::int64_t step_k = transposed ? 1 : n, step_n = transposed ? k : 1;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) {
      const std::uint64_t a = x[i * k + l];
      const std::uint32_t* row = w + l * step_k;
      std::uint64_t* to = acc + i * n;
      for (std::int64_t j = 0; j < n; ++j) to[j] += field::fold(a * row[j * step_n]);
    }
}

std::vector<FieldTensor> run(const Input&, const PieceTask&) { BASE_CHECK(false, "sources are not run"); }
std::vector<FieldTensor> run(const Weight&, const PieceTask&) { BASE_CHECK(false, "sources are not run"); }

std::vector<FieldTensor> run(const Linear& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::int64_t k = t.inputs[0].sizes().back(), n = y.shape.sizes.back(), m = y.shape.elements() / n;
  std::vector<std::uint64_t> acc(y.values.size(), 0);
  multiply_add(t.inputs[0].values->values.data(), t.inputs[1].values->values.data(), op.transposed_weight, m, k, n, acc.data());
  const bool bias = op.has_bias && t.first_summand;
  for (std::size_t i = 0; i < acc.size(); ++i)
    y.values[i] = activate(op.activation, field::reduce(acc[i] + (bias ? t.inputs[2].values->values[i % static_cast<std::size_t>(n)] : 0)));
  return {y};
}

// `count` products of a[m, k] and b[k, n], one behind the other.
FieldTensor batched(const PieceTask& t, std::int64_t count, bool transposed, Activation activation) {
  FieldTensor y = blank(t.outputs[0]);
  const Sizes& a = t.inputs[0].sizes();
  const std::int64_t k = a.back(), n = y.shape.sizes.back(), m = t.inputs[0].values->shape.elements() / (count * k);
  std::vector<std::uint64_t> acc(y.values.size(), 0);
  for (std::int64_t c = 0; c < count; ++c)
    multiply_add(t.inputs[0].values->values.data() + c * m * k, t.inputs[1].values->values.data() + c * k * n, transposed, m, k, n, acc.data() + c * m * n);
  for (std::size_t i = 0; i < acc.size(); ++i) y.values[i] = activate(activation, field::reduce(acc[i]));
  return y;
}

std::vector<FieldTensor> run(const BatchMatmul& op, const PieceTask& t) {
  const Sizes& a = t.inputs[0].sizes();
  return {batched(t, product(a, 0, a.size() - 2), op.transpose_b, Activation::none)};
}
std::vector<FieldTensor> run(const ExpertLinear& op, const PieceTask& t) { return {batched(t, t.inputs[0].sizes()[0], false, op.activation)}; }
std::vector<FieldTensor> run(const Conv2d& op, const PieceTask& t) { return {run_conv2d(op, t)}; }
std::vector<FieldTensor> run(const Pool2d& op, const PieceTask& t) { return {run_pool2d(op, t)}; }
std::vector<FieldTensor> run(const Attention& op, const PieceTask& t) { return {run_attention(op, t)}; }

// Norms and softmax: each value becomes a function of itself and of all values that it is normalised with, times gain, plus bias.
std::vector<FieldTensor> run(const LayerNorm& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::vector<std::uint32_t>& x = t.inputs[0].values->values;
  const auto h = static_cast<std::size_t>(y.shape.sizes.back());
  for (std::size_t row = 0; row < x.size(); row += h) {
    Hash statistics(op.rms ? kRmsNorm : kLayerNorm);
    for (std::size_t i = 0; i < h; ++i) statistics(x[row + i]);
    for (std::size_t i = 0; i < h; ++i) {
      const std::uint32_t scaled = field::multiply(Hash(statistics)(x[row + i]).element(), t.inputs[1].values->values[i]);
      y.values[row + i] = op.rms ? scaled : field::add(scaled, t.inputs[2].values->values[i]);
    }
  }
  return {y};
}

std::vector<FieldTensor> run(const BatchNorm&, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;  // of all samples
  const Sizes& s = x.shape.sizes;
  const std::int64_t plane = s[2] * s[3], first = t.outputs[0].place.offset[0] - t.inputs[0].place.offset[0];
  auto at = [&](std::int64_t b, std::int64_t c, std::int64_t i) { return static_cast<std::size_t>((b * s[1] + c) * plane + i); };
  for (std::int64_t c = 0; c < s[1]; ++c) {
    Hash statistics(kBatchNorm);
    for (std::int64_t b = 0; b < s[0]; ++b)
      for (std::int64_t i = 0; i < plane; ++i) statistics(x.values[at(b, c, i)]);
    const std::uint32_t gain = t.inputs[1].values->values[static_cast<std::size_t>(c)], bias = t.inputs[2].values->values[static_cast<std::size_t>(c)];
    for (std::int64_t b = 0; b < y.shape.sizes[0]; ++b)
      for (std::int64_t i = 0; i < plane; ++i)
        y.values[at(b, c, i)] = field::add(field::multiply(Hash(statistics)(x.values[at(first + b, c, i)]).element(), gain), bias);
  }
  return {y};
}

std::vector<FieldTensor> run(const Softmax& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::vector<std::uint32_t>& x = t.inputs[0].values->values;
  const Around a(y.shape.sizes, resolve(op.axis, y.shape.sizes.size()));
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) {
      Hash row(kSoftmax);
      for (std::int64_t l = 0; l < a.axis; ++l) row(x[a.at(o, l, i)]);
      for (std::int64_t l = 0; l < a.axis; ++l) y.values[a.at(o, l, i)] = Hash(row)(x[a.at(o, l, i)]).element();
    }
  return {y};
}

// Adds `bag` rows of the table to each row of y; a row that this piece does not hold is 0.
std::vector<FieldTensor> look_up(const PieceTask& t, std::size_t bag) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& table = *t.inputs[1].values;
  const auto n = static_cast<std::size_t>(table.shape.sizes[1]);
  const std::int64_t first = t.inputs[1].place.offset[0], rows = table.shape.sizes[0];
  const std::vector<std::uint32_t>& index = t.inputs[0].values->values;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(index[i]) - first;
    if (row < 0 || row >= rows) continue;
    for (std::size_t j = 0; j < n; ++j) {
      std::uint32_t& to = y.values[i / bag * n + j];
      to = field::add(to, table.values[static_cast<std::size_t>(row) * n + j]);
    }
  }
  return {y};
}
std::vector<FieldTensor> run(const Embedding&, const PieceTask& t) { return look_up(t, 1); }
std::vector<FieldTensor> run(const EmbeddingBag&, const PieceTask& t) { return look_up(t, static_cast<std::size_t>(t.inputs[0].sizes()[1])); }

// A whole number and one over a whole number mean themselves, so that scalings cancel; any other factor is a fixed random one.
std::uint32_t factor_of(double factor) {
  const bool small = std::abs(factor) >= 1 ? std::abs(factor) < 1e9 : std::abs(1 / factor) < 1e9;
  const double whole = std::abs(factor) >= 1 ? factor : 1 / factor;
  if (factor == 0) return 0;
  if (!small || whole != std::floor(whole)) return Hash(kFactor)(std::bit_cast<std::uint64_t>(factor)).element();
  const auto n = static_cast<std::uint32_t>(std::abs(whole));
  const std::uint32_t positive = std::abs(factor) >= 1 ? n : field::inverse(n);
  return factor > 0 ? positive : field::subtract(0, positive);
}

std::uint32_t apply_unary(const Unary& op, std::uint32_t factor, std::uint32_t x) {
  switch (op.kind) {
    case Unary::Kind::relu: return activate(Activation::relu, x);
    case Unary::Kind::gelu: return activate(Activation::gelu, x);
    case Unary::Kind::tanh: return activate(Activation::tanh, x);
    case Unary::Kind::sigmoid: return activate(Activation::sigmoid, x);
    case Unary::Kind::silu:
    case Unary::Kind::exp: return Hash(kUnary)(static_cast<std::uint64_t>(op.kind))(x).element();
    case Unary::Kind::scale: return field::multiply(x, factor);
    case Unary::Kind::identity: return x;
  }
  return x;
}
std::vector<FieldTensor> run(const Unary& op, const PieceTask& t) {
  FieldTensor y = *t.inputs[0].values;
  const std::uint32_t factor = factor_of(op.factor);
  for (std::uint32_t& v : y.values) v = apply_unary(op, factor, v);
  return {y};
}

std::uint32_t combine(Binary::Kind kind, std::uint32_t a, std::uint32_t b) {
  switch (kind) {
    case Binary::Kind::add: return field::add(a, b);
    case Binary::Kind::subtract: return field::subtract(a, b);
    case Binary::Kind::multiply: return field::multiply(a, b);
  }
  return a;
}
std::vector<FieldTensor> run(const Binary& op, const PieceTask& t) {
  FieldTensor y = *t.inputs[0].values;
  const Sizes& whole = t.inputs[1].place.whole;
  const Sizes& b = t.inputs[1].sizes();
  const std::size_t missing = y.shape.sizes.size() - b.size();
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = 0, step = 1;
    for (std::size_t d = b.size(); d-- > 0;) {  // dims of size 1 are read again and again
      const std::int64_t at = rest % y.shape.sizes[missing + d];
      rest /= y.shape.sizes[missing + d];
      if (whole[d] != 1) index += at * step;
      step *= b[d];
    }
    y.values[i] = combine(op.kind, y.values[i], t.inputs[1].values->values[static_cast<std::size_t>(index)]);
  }
  return {y};
}

// Copies `length` layers of an axis from one tensor to another.
void copy_layers(const FieldTensor& from, std::int64_t begin, FieldTensor& to, std::int64_t at, std::int64_t length, std::size_t axis) {
  const Around a(from.shape.sizes, axis), b(to.shape.sizes, axis);
  for (std::int64_t o = 0; o < a.outer; ++o)
    std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(a.at(o, begin, 0)), length * a.inner,
                to.values.begin() + static_cast<std::ptrdiff_t>(b.at(o, at, 0)));
}
std::vector<FieldTensor> run(const Concat& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve(op.axis, y.shape.sizes.size());
  std::int64_t at = 0;
  for (const Operand& in : t.inputs) {
    copy_layers(*in.values, 0, y, at, in.sizes()[axis], axis);
    at += in.sizes()[axis];
  }
  return {y};
}
std::vector<FieldTensor> run(const Split& op, const PieceTask& t) {
  std::vector<FieldTensor> result;
  const std::size_t axis = resolve(op.axis, t.inputs[0].sizes().size());
  std::int64_t begin = 0;
  for (const OutputPiece& out : t.outputs) {
    result.push_back(blank(out));
    copy_layers(*t.inputs[0].values, begin, result.back(), 0, out.shape.sizes[axis], axis);
    begin += out.shape.sizes[axis];
  }
  return result;
}
std::vector<FieldTensor> run(const Slice& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  copy_layers(*t.inputs[0].values, op.begin, y, 0, op.length, resolve(op.axis, y.shape.sizes.size()));
  return {y};
}

std::vector<FieldTensor> run(const Reshape&, const PieceTask& t) { return {{t.outputs[0].shape, t.inputs[0].values->values}}; }

std::vector<FieldTensor> run(const Transpose& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const Sizes& in = t.inputs[0].sizes();
  Sizes step(in.size());  // of each output dim, in the input
  for (std::size_t d = 0; d < in.size(); ++d) {
    const auto from = static_cast<std::size_t>(op.permutation[d]);
    step[d] = product(in, from + 1, in.size());
  }
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = 0;
    for (std::size_t d = in.size(); d-- > 0;) {
      index += rest % y.shape.sizes[d] * step[d];
      rest /= y.shape.sizes[d];
    }
    y.values[i] = t.inputs[0].values->values[static_cast<std::size_t>(index)];
  }
  return {y};
}

std::vector<FieldTensor> run(const Broadcast& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve(op.axis, y.shape.sizes.size());
  for (std::int64_t at = 0; at < y.shape.sizes[axis]; ++at) copy_layers(*t.inputs[0].values, 0, y, at, 1, axis);
  return {y};
}

std::vector<FieldTensor> run(const Dropout&, const PieceTask& t) {
  FieldTensor y = *t.inputs[0].values;
  const Place& place = t.outputs[0].place;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = field::multiply(y.values[i], Hash(kDropout)(t.name_hash)(t.micro_batch)(global_index(place, y.shape.sizes, static_cast<std::int64_t>(i))).element());
  return {y};
}

std::vector<FieldTensor> run(const Reduction& op, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const Operand& x = t.inputs[0];
  const std::size_t axis = resolve(op.axis, x.sizes().size());
  const Around a(x.sizes(), axis);
  const std::uint32_t factor = op.kind == Reduction::Kind::mean ? field::inverse(static_cast<std::uint32_t>(x.place.whole[axis])) : 1;
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) {
      std::uint64_t sum = 0;
      for (std::int64_t l = 0; l < a.axis; ++l) sum += x.values->values[a.at(o, l, i)];
      y.values[static_cast<std::size_t>(o * a.inner + i)] = field::multiply(field::reduce(sum), factor);
    }
  return {y};
}

std::vector<FieldTensor> run(const CrossEntropy&, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const auto classes = static_cast<std::size_t>(t.inputs[0].sizes().back());
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::uint32_t* logits = t.inputs[0].values->values.data() + i * classes;
    Hash row(kLoss);
    for (std::size_t c = 0; c < classes; ++c) row(logits[c]);
    y.values[i] = row(logits[t.inputs[1].values->values[i]]).element();
  }
  return {y};
}

std::vector<FieldTensor> run(const SquaredError&, const PieceTask& t) {
  FieldTensor y = *t.inputs[0].values;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::uint32_t difference = field::subtract(y.values[i], t.inputs[1].values->values[i]);
    y.values[i] = field::multiply(difference, difference);
  }
  return {y};
}

// How much of token s goes to (comes back from) place c of expert e depends on all gates of the sample: capacity is shared.
Hash gates_of_sample(Tag tag, const Operand& gates, std::int64_t b) {
  const auto count = static_cast<std::size_t>(gates.sizes()[1] * gates.sizes()[2]);
  Hash h(tag);
  for (std::size_t i = 0; i < count; ++i) h(gates.values->values[static_cast<std::size_t>(b) * count + i]);
  return h;
}
std::uint32_t share(const Hash& gates, std::int64_t s, std::int64_t e, std::int64_t c) {
  return Hash(gates)(static_cast<std::uint64_t>(s))(static_cast<std::uint64_t>(e))(static_cast<std::uint64_t>(c)).element();
}
// Visits every (token, place of expert) with its share: routed(index of the token's row, index of the expert's row, share).
template <class Visit>
void route(Tag tag, const Operand& gates, std::int64_t capacity, Visit&& routed) {
  const Sizes& g = gates.sizes();  // b, s, experts
  for (std::int64_t b = 0; b < g[0]; ++b) {
    const Hash h = gates_of_sample(tag, gates, b);
    for (std::int64_t s = 0; s < g[1]; ++s)
      for (std::int64_t e = 0; e < g[2]; ++e)
        for (std::int64_t c = 0; c < capacity; ++c) routed(b * g[1] + s, (e * g[0] + b) * capacity + c, share(h, s, e, c));
  }
}
void add_row(const FieldTensor& from, std::int64_t row, FieldTensor& to, std::int64_t at, std::uint32_t factor) {
  const std::int64_t h = from.shape.sizes.back();
  for (std::int64_t i = 0; i < h; ++i) {
    std::uint32_t& sum = to.values[static_cast<std::size_t>(at * h + i)];
    sum = field::add(sum, field::multiply(from.values[static_cast<std::size_t>(row * h + i)], factor));
  }
}
std::vector<FieldTensor> run(const MoeDispatch&, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kDispatch, t.inputs[1], y.shape.sizes[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, token, y, place, share); });
  return {y};
}
std::vector<FieldTensor> run(const MoeCombine&, const PieceTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kCombine, t.inputs[1], t.inputs[0].sizes()[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, place, y, token, share); });
  return {y};
}

}  // namespace

std::uint32_t activate(Activation a, std::uint32_t x) {
  return a == Activation::none ? x : Hash(kActivation)(static_cast<std::uint64_t>(a))(x).element();
}

std::uint64_t global_index(const Place& place, const std::vector<std::int64_t>& sizes, std::int64_t index) {
  std::int64_t result = 0, step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    result += (place.offset[d] + index % sizes[d]) * step;
    index /= sizes[d];
    step *= place.whole[d];
  }
  return static_cast<std::uint64_t>(result);
}

std::vector<FieldTensor> run_piece(const Operator& op, const PieceTask& task) {
  return std::visit([&](const auto& o) { return run(o, task); }, op);
}

}  // namespace pcg
