#include "pcg/evaluator/evaluator_operator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "pcg/evaluator/field_kernels.hpp"

namespace pcg {
namespace {

using field::Hash;
using Sizes = std::vector<std::int64_t>;

// Tags keep the stand-ins of different functions apart; 1 is that of activations.
enum OperatorTag : std::uint64_t { kUnary = 2, kFactor, kLayerNorm, kRmsNorm, kBatchNorm, kSoftmax, kDropout, kLoss };

std::vector<FieldTensor> run(const Input&, const ShardTask&) { BASE_CHECK(false, "sources are not run"); }
std::vector<FieldTensor> run(const Weight&, const ShardTask&) { BASE_CHECK(false, "sources are not run"); }

// `count` products of a[m, k] and b[k, n], one after another, each with a bias of its own where there is one.
FieldTensor batched(const ShardTask& t, std::int64_t count, bool transposed, Activation activation, bool bias = false) {
  FieldTensor y = blank(t.outputs[0]);
  const Sizes& a = t.inputs[0].sizes();
  const std::int64_t k = a.back(), n = y.shape.sizes.back(), m = t.inputs[0].values->shape.elements() / (count * k);
  std::vector<std::uint64_t> acc(y.values.size(), 0);
  const field::Elements x = t.inputs[0].values->values, w = t.inputs[1].values->values;
  const auto part = [&](std::int64_t c, std::int64_t size) { return static_cast<std::size_t>(c * size); };
  for (std::int64_t c = 0; c < count; ++c)
    field::add_product({m, k, n, transposed}, x.subspan(part(c, m * k)), w.subspan(part(c, k * n)),
                       field::Sums(acc).subspan(part(c, m * n)));
  const auto bias_of = [&](std::size_t i) {
    const auto of_product = static_cast<std::size_t>(m * n), row = i / of_product, column = i % static_cast<std::size_t>(n);
    return bias && t.first_summand ? t.inputs[2].values->values[row * static_cast<std::size_t>(n) + column] : 0;
  };
  for (std::size_t i = 0; i < acc.size(); ++i) y.values[i] = activate(activation, field::reduce(acc[i] + bias_of(i)));
  return y;
}

std::vector<FieldTensor> run(const Linear& op, const ShardTask& t) {
  return {batched(t, 1, op.transposed_weight, op.activation, op.has_bias)};
}
std::vector<FieldTensor> run(const BatchMatmul& op, const ShardTask& t) {
  const Sizes& a = t.inputs[0].sizes();
  return {batched(t, t.inputs[0].values->shape.elements() / (a[a.size() - 2] * a.back()), op.transpose_b, Activation::none)};
}
std::vector<FieldTensor> run(const ExpertLinear& op, const ShardTask& t) {
  return {batched(t, t.inputs[0].sizes()[0], false, op.activation, op.has_bias)};
}
std::vector<FieldTensor> run(const Attention& op, const ShardTask& t) { return {run_attention(op, t)}; }
std::vector<FieldTensor> run(const StateSpace& op, const ShardTask& t) { return {run_state_space(op, t)}; }
std::vector<FieldTensor> run(const Reshape&, const ShardTask& t) { return {{t.outputs[0].shape, t.inputs[0].values->values}}; }

// Norms and softmax: each value becomes a function of itself and of all values that it is normalised with, times gain, plus bias.
std::vector<FieldTensor> run(const LayerNorm& op, const ShardTask& t) {
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

std::vector<FieldTensor> run(const BatchNorm&, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;  // of all samples
  const Sizes& s = x.shape.sizes;
  const std::int64_t plane = s[2] * s[3];
  auto at = [&](std::int64_t b, std::int64_t c, std::int64_t i) { return static_cast<std::size_t>((b * s[1] + c) * plane + i); };
  const Sizes& own = y.shape.sizes;
  auto first = [&](std::size_t dim) { return t.outputs[0].place.offset[dim] - t.inputs[0].place.offset[dim]; };
  for (std::int64_t c = 0; c < s[1]; ++c) {
    Hash statistics(kBatchNorm);
    for (std::int64_t b = 0; b < s[0]; ++b)
      for (std::int64_t i = 0; i < plane; ++i) statistics(x.values[at(b, c, i)]);
    const std::uint32_t gain = t.inputs[1].values->values[static_cast<std::size_t>(c)],
                        bias = t.inputs[2].values->values[static_cast<std::size_t>(c)];
    for (std::int64_t b = 0; b < own[0]; ++b)
      for (std::int64_t i = 0; i < own[2] * own[3]; ++i) {
        const std::int64_t row = first(2) + i / own[3], column = first(3) + i % own[3];
        const std::uint32_t value = x.values[at(first(0) + b, c, row * s[3] + column)];
        y.values[static_cast<std::size_t>((b * own[1] + c) * own[2] * own[3] + i)] =
            field::add(field::multiply(Hash(statistics)(value).element(), gain), bias);
      }
  }
  return {y};
}

std::vector<FieldTensor> run(const Softmax& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::vector<std::uint32_t>& x = t.inputs[0].values->values;
  const field::Around a(y.shape.sizes, resolve_axis(op.axis, y.shape.sizes.size()));
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) {
      Hash row(kSoftmax);
      for (std::int64_t l = 0; l < a.axis; ++l) row(x[a.at(o, l, i)]);
      for (std::int64_t l = 0; l < a.axis; ++l) y.values[a.at(o, l, i)] = Hash(row)(x[a.at(o, l, i)]).element();
    }
  return {y};
}

// Adds `bag` rows of the table to each row of y; a row that this shard does not hold is 0.
std::vector<FieldTensor> look_up(const ShardTask& t, std::size_t bag) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& table = *t.inputs[1].values;
  std::vector<std::int64_t> rows;
  for (const std::uint32_t index : t.inputs[0].values->values) rows.push_back(std::int64_t{index} - t.inputs[1].place.offset[0]);
  field::add_rows(rows, table.values, static_cast<std::size_t>(table.shape.sizes[1]), bag, y.values);
  return {y};
}
std::vector<FieldTensor> run(const Embedding&, const ShardTask& t) { return look_up(t, 1); }
std::vector<FieldTensor> run(const EmbeddingBag&, const ShardTask& t) {
  return look_up(t, static_cast<std::size_t>(t.inputs[0].sizes()[1]));
}

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
    case Unary::Kind::relu2:
    case Unary::Kind::exp: return Hash(kUnary)(static_cast<std::uint64_t>(op.kind))(x).element();
    case Unary::Kind::scale: return field::multiply(x, factor);
    case Unary::Kind::identity: return x;
  }
  return x;
}
std::vector<FieldTensor> run(const Unary& op, const ShardTask& t) {
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
std::vector<FieldTensor> run(const Binary& op, const ShardTask& t) {
  FieldTensor y = *t.inputs[0].values;
  const Sizes& whole = t.inputs[1].place.whole;
  const Sizes& b = t.inputs[1].sizes();
  const std::size_t missing = y.shape.sizes.size() - b.size();
  // Beside an operand that lies in partial sums, one that does not is added at the first of them only.
  const int absent = t.through >= 0 && !t.first_summand && op.kind != Binary::Kind::multiply ? 1 - t.through : -1;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = 0, step = 1;
    for (std::size_t d = b.size(); d-- > 0;) {  // dims of size 1 are read again and again
      const std::int64_t at = rest % y.shape.sizes[missing + d];
      rest /= y.shape.sizes[missing + d];
      if (whole[d] != 1) index += at * step;
      step *= b[d];
    }
    const std::uint32_t other = t.inputs[1].values->values[static_cast<std::size_t>(index)];
    y.values[i] = combine(op.kind, absent == 0 ? 0 : y.values[i], absent == 1 ? 0 : other);
  }
  return {y};
}

// A point holds the one summand that it is given.
std::vector<FieldTensor> run(const Summands&, const ShardTask& t) {
  const auto given = std::ranges::find_if(t.inputs, [](const Operand& o) { return o.values != nullptr; });
  BASE_CHECK(given != t.inputs.end(), "a summand that none of {} inputs has", t.inputs.size());
  return {*given->values};
}

std::vector<FieldTensor> run(const Dropout&, const ShardTask& t) {
  FieldTensor y = *t.inputs[0].values;
  const Place& place = t.outputs[0].place;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = field::multiply(
        y.values[i],
        Hash(kDropout)(t.name_hash)(t.micro_batch)(global_index(place, y.shape.sizes, static_cast<std::int64_t>(i))).element());
  return {y};
}

std::vector<FieldTensor> run(const Reduction& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const Operand& x = t.inputs[0];
  const std::size_t axis = resolve_axis(op.axis, x.sizes().size());
  field::sum_along(field::Around(x.sizes(), axis), x.values->values, y.values);
  if (op.kind == Reduction::Kind::sum) return {y};
  const std::uint32_t share = field::inverse(static_cast<std::uint32_t>(x.place.whole[axis]));
  for (std::uint32_t& v : y.values) v = field::multiply(v, share);
  return {y};
}

std::vector<FieldTensor> run(const CrossEntropy&, const ShardTask& t) {
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

std::vector<FieldTensor> run(const SquaredError&, const ShardTask& t) {
  FieldTensor y = *t.inputs[0].values;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::uint32_t difference = field::subtract(y.values[i], t.inputs[1].values->values[i]);
    y.values[i] = field::multiply(difference, difference);
  }
  return {y};
}

// Where rows or columns are cut and windows reach over the cut, the input is there whole, and the output's first window lies inside it.
field::Windows placed(const Window& rows, const Window& columns, const ShardTask& t) {
  const std::vector<std::int64_t>&x = t.inputs[0].place.offset, &y = t.outputs[0].place.offset;
  return {rows, columns, y[2] - x[2] / rows.stride, y[3] - x[3] / columns.stride};
}
field::Images images(const Operand& x) { return {x.sizes(), x.values->values}; }

std::vector<FieldTensor> run(const Conv2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  std::vector<std::uint64_t> sums(y.values.size(), 0);
  field::add_convolution(placed(op.rows, op.columns, t), images(t.inputs[0]), images(t.inputs[1]), y.shape.sizes, sums);
  const bool bias = op.has_bias && t.first_summand;
  const auto channels = static_cast<std::size_t>(y.shape.sizes[1]), plane = static_cast<std::size_t>(y.shape.sizes[2] * y.shape.sizes[3]);
  for (std::size_t i = 0; i < sums.size(); ++i)
    y.values[i] = activate(op.activation, field::reduce(sums[i] + (bias ? t.inputs[2].values->values[i / plane % channels] : 0)));
  return {y};
}

std::vector<FieldTensor> run(const Pool2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::vector<std::int64_t>& xs = t.inputs[0].sizes();
  const bool global = op.rows.kernel == 0 || op.columns.kernel == 0;
  const field::Windows windows =
      global ? placed({.kernel = static_cast<int>(xs[2])}, {.kernel = static_cast<int>(xs[3])}, t) : placed(op.rows, op.columns, t);
  field::pool(op.kind, windows, images(t.inputs[0]), y.shape.sizes, y.values);
  return {y};
}

enum ExpertTag : std::uint64_t { kDispatch = 301, kCombine };

// How much of a token goes to (comes back from) a place of an expert depends on all gates of the slice of the sequence that both
// belong to: its tokens compete for its places. Tokens and places are counted from the slice's first, so that a shard need not know which
// slices it has.
Hash gates_of_slice(ExpertTag tag, const Operand& gates, std::int64_t first_token, std::int64_t tokens) {
  const std::int64_t experts = gates.sizes()[2];
  Hash h(tag);
  for (std::int64_t i = first_token * experts; i < (first_token + tokens) * experts; ++i)
    h(gates.values->values[static_cast<std::size_t>(i)]);
  return h;
}
std::uint32_t share(const Hash& gates, std::int64_t s, std::int64_t e, std::int64_t c) {
  return Hash(gates)(static_cast<std::uint64_t>(s))(static_cast<std::uint64_t>(e))(static_cast<std::uint64_t>(c)).element();
}
// Visits every (token, place of expert) of a slice with its share: routed(index of the token's row, index of the expert's row, share).
template <class Visit>
void route(ExpertTag tag, const Operand& gates, std::int64_t capacity, Visit&& routed) {
  const Sizes& g = gates.sizes();  // b, s, experts
  const std::int64_t slices = std::gcd(g[1], capacity), tokens = g[1] / slices, places = capacity / slices;
  for (std::int64_t p = 0; p < g[0] * slices; ++p) {
    const Hash h = gates_of_slice(tag, gates, p * tokens, tokens);
    const std::int64_t b = p / slices, first_place = p % slices * places;
    for (std::int64_t s = 0; s < tokens; ++s)
      for (std::int64_t e = 0; e < g[2]; ++e)
        for (std::int64_t c = 0; c < places; ++c) routed(p * tokens + s, (e * g[0] + b) * capacity + first_place + c, share(h, s, e, c));
  }
}
void add_row(const FieldTensor& from, std::int64_t row, FieldTensor& to, std::int64_t at, std::uint32_t factor) {
  const std::int64_t h = from.shape.sizes.back();
  for (std::int64_t i = 0; i < h; ++i) {
    std::uint32_t& sum = to.values[static_cast<std::size_t>(at * h + i)];
    sum = field::add(sum, field::multiply(from.values[static_cast<std::size_t>(row * h + i)], factor));
  }
}

std::vector<FieldTensor> run(const MoeDispatch&, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kDispatch, t.inputs[1], y.shape.sizes[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, token, y, place, share); });
  return {y};
}
std::vector<FieldTensor> run(const MoeCombine&, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  route(kCombine, t.inputs[1], t.inputs[0].sizes()[2],
        [&](std::int64_t token, std::int64_t place, std::uint32_t share) { add_row(*t.inputs[0].values, place, y, token, share); });
  return {y};
}

std::vector<FieldTensor> run(const Concat& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  std::int64_t at = 0;
  for (const Operand& in : t.inputs) {
    copy_layers(*in.values, 0, y, at, in.sizes()[axis], axis);
    at += in.sizes()[axis];
  }
  return {y};
}
std::vector<FieldTensor> run(const Split& op, const ShardTask& t) {
  std::vector<FieldTensor> result;
  const std::size_t axis = resolve_axis(op.axis, t.inputs[0].sizes().size());
  std::int64_t begin = 0;
  for (const OutputShard& out : t.outputs) {
    result.push_back(blank(out));
    copy_layers(*t.inputs[0].values, begin, result.back(), 0, out.shape.sizes[axis], axis);
    begin += out.shape.sizes[axis];
  }
  return result;
}
std::vector<FieldTensor> run(const Slice& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  copy_layers(*t.inputs[0].values, op.begin, y, 0, op.length, resolve_axis(op.axis, y.shape.sizes.size()));
  return {y};
}

std::vector<FieldTensor> run(const Transpose& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  field::permute(t.inputs[0].sizes(), t.inputs[0].values->values, op.permutation, y.values);
  return {y};
}

std::vector<FieldTensor> run(const Broadcast& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  for (std::int64_t at = 0; at < y.shape.sizes[axis]; ++at) copy_layers(*t.inputs[0].values, 0, y, at, 1, axis);
  return {y};
}

}  // namespace

std::vector<FieldTensor> run_shard(const Operator& op, const ShardTask& task) {
  return std::visit([&](const auto& o) { return run(o, task); }, op);
}

void copy_layers(const FieldTensor& from, std::int64_t begin, FieldTensor& to, std::int64_t at, std::int64_t length, std::size_t axis) {
  field::copy_layers({from.shape.sizes, axis}, from.values, begin, {to.shape.sizes, axis}, to.values, at, length);
}

FieldTensor blank(TensorShape shape) {
  const auto elements = static_cast<std::size_t>(shape.elements());
  return {std::move(shape), std::vector<std::uint32_t>(elements)};
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

}  // namespace pcg
