#include "tests/oracles/axioms/shards.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace rules {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Operation {
  const Task& t;
  Symbolic& a;
  const Shard& x = *t.inputs.at(0);
};

const Shard& in(const Operation& o, std::size_t i) { return *o.t.inputs.at(i); }

Element applied(const Operation& o, Function f, Element e) {
  return f == Function::none ? e : o.a.apply(fmt::format("f{}", static_cast<int>(f)), std::span(&e, 1));
}

Element activated(const Operation& o, Element e) { return applied(o, o.t.node->function, e); }

Element sum(const Operation& o, const std::vector<Element>& terms) {
  if (terms.empty()) return o.a.constant(0, 1);
  Element s = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) s = o.a.add(s, terms[i]);
  return s;
}

Element linear(const Operation& o, const Sizes& at, bool bias) {
  std::vector<Element> terms;
  for (std::int64_t k = 0; k < o.x.sizes[1]; ++k) terms.push_back(o.a.multiply(element(o.x, {at[0], k}), element(in(o, 1), {k, at[1]})));
  if (bias && o.t.first_summand && o.t.blocks[0][1] == 0) terms.push_back(element(in(o, 2), {at[1]}));
  return activated(o, sum(o, terms));
}

Element batch_matmul(const Operation& o, const Sizes& at) {
  std::vector<Element> terms;
  for (std::int64_t k = 0; k < o.x.sizes[2]; ++k)
    terms.push_back(o.a.multiply(element(o.x, {at[0], at[1], k}), element(in(o, 1), {at[0], k, at[2]})));
  return sum(o, terms);
}

Element conv(const Operation& o, const Sizes& at, bool bias) {
  const Shard& w = in(o, 1);
  const std::int64_t groups = o.x.sizes[1] / w.sizes[1], group = at[1] / (w.sizes[0] / groups);
  std::vector<Element> terms;
  for (std::int64_t c = 0; c < w.sizes[1]; ++c)
    for (std::int64_t i = 0; i < w.sizes[2]; ++i)
      for (std::int64_t j = 0; j < w.sizes[3]; ++j) {
        const std::int64_t h = o.t.row + at[2] + i - w.sizes[2] / 2, v = o.t.column + at[3] + j - w.sizes[3] / 2;
        if (h < 0 || v < 0 || h >= o.x.sizes[2] || v >= o.x.sizes[3]) continue;
        terms.push_back(o.a.multiply(element(o.x, {at[0], group * w.sizes[1] + c, h, v}), element(w, {at[1], c, i, j})));
      }
  if (bias && o.t.first_summand && o.t.blocks[1][1] == 0) terms.push_back(element(in(o, 2), {at[1]}));
  return activated(o, sum(o, terms));
}

Element pool(const Operation& o, const Sizes& at) {
  const bool average = o.t.node->kind == Kind::average_pool;
  const Element outside = average ? o.a.constant(0, 1) : o.a.apply("lowest", {});
  std::vector<Element> window;
  for (std::int64_t i = -1; i <= 1; ++i)
    for (std::int64_t j = -1; j <= 1; ++j) {
      const std::int64_t h = o.t.row + at[2] + i, v = o.t.column + at[3] + j;
      const bool inside = h >= 0 && v >= 0 && h < o.x.sizes[2] && v < o.x.sizes[3];
      window.push_back(inside ? element(o.x, {at[0], at[1], h, v}) : outside);
    }
  return average ? o.a.multiply(o.a.constant(1, 9), sum(o, window)) : o.a.apply("max9", window);
}

// Position i of an unknown function of a vector along the last dim.
Element along_row(const Operation& o, const std::string& name, Sizes at) {
  const std::int64_t position = at.back();
  std::vector<Element> row;
  for (at.back() = 0; at.back() < o.x.sizes.back(); ++at.back()) row.push_back(element(o.x, at));
  return o.a.apply(fmt::format("{}{}_{}", name, row.size(), position), row);
}

Element layer_norm(const Operation& o, const Sizes& at) {
  return o.a.add(o.a.multiply(along_row(o, "norm", at), element(in(o, 1), {at.back()})), element(in(o, 2), {at.back()}));
}

Element rms_norm(const Operation& o, const Sizes& at) { return o.a.multiply(along_row(o, "rms", at), element(in(o, 1), {at.back()})); }

Element batch_norm(const Operation& o, const Sizes& at) {
  std::vector<Element> channel;
  for (std::int64_t n = 0; n < o.x.sizes[0]; ++n)
    for (std::int64_t h = 0; h < o.x.sizes[2]; ++h)
      for (std::int64_t v = 0; v < o.x.sizes[3]; ++v) channel.push_back(element(o.x, {n, at[1], h, v}));
  const std::int64_t position = ((o.t.sample + at[0]) * o.x.sizes[2] + o.t.row + at[2]) * o.x.sizes[3] + o.t.column + at[3];
  const Element normal = o.a.apply(fmt::format("batch{}_{}", channel.size(), position), channel);
  return o.a.add(o.a.multiply(normal, element(in(o, 1), {at[1]})), element(in(o, 2), {at[1]}));
}

Element attention(const Operation& o, const Sizes& at) {  // each head is three columns of all positions, gathered
  std::vector<Element> head;
  for (std::int64_t s = 0; s < o.x.sizes[1]; ++s)
    for (std::int64_t c = 0; c < 3; ++c) head.push_back(element(o.x, {at[0], s, 3 * at[2] + c}));
  return o.a.apply(fmt::format("attention{}_{}", o.x.sizes[1], o.t.blocks[0][1] * o.t.sizes[1] + at[1]), head);
}

// The product of the index's one-hot vector and the part of the table that this shard holds. Whether the index is a row is an unknown
// number here: what holds of all such numbers holds of 0 and 1.
Element row_of(const Operation& o, Element index, std::int64_t column) {
  const Shard& w = in(o, 1);
  const std::int64_t first = o.t.blocks[1][0] * w.sizes[0];
  std::vector<Element> terms;
  for (std::int64_t r = 0; r < w.sizes[0]; ++r)
    terms.push_back(o.a.multiply(o.a.apply(fmt::format("is{}", first + r), std::span(&index, 1)), element(w, {r, column})));
  return sum(o, terms);
}

Element embedding(const Operation& o, const Sizes& at) { return row_of(o, element(o.x, Sizes(at.begin(), at.end() - 1)), at.back()); }

Element embedding_bag(const Operation& o, const Sizes& at) {
  std::vector<Element> terms;
  for (std::int64_t b = 0; b < o.x.sizes[1]; ++b) terms.push_back(row_of(o, element(o.x, {at[0], b}), at[1]));
  return sum(o, terms);
}

Element concat(const Operation& o, Sizes at) {
  const std::size_t axis = static_cast<std::size_t>(o.t.node->axis);
  if (at[axis] < o.x.sizes[axis]) return element(o.x, at);
  at[axis] -= o.x.sizes[axis];
  return element(in(o, 1), at);
}

Element dropped(const Operation& o, const Sizes& at) {  // the mask is that of the whole tensor
  std::string name = "dropout";
  for (std::size_t d = 0; d < at.size(); ++d) name += fmt::format("_{}", at[d] + o.t.blocks[0][d] * o.t.sizes[d]);
  const Element e = element(o.x, at);
  return o.a.apply(name, std::span(&e, 1));
}

Element added(const Operation& o, const Sizes& at) {  // what has no summands of its own counts at the first one only
  if (o.t.through >= 0 && !o.t.first_summand) return element(in(o, static_cast<std::size_t>(o.t.through)), at);
  return o.a.add(element(o.x, at), element(in(o, 1), at));
}

Element shifted(const Operation& o, Sizes at, std::int64_t by) {
  at[static_cast<std::size_t>(o.t.node->axis)] += by;
  return element(o.x, at);
}

Element transpose(const Operation& o, Sizes at) {
  std::swap(at[at.size() - 2], at.back());
  return element(o.x, at);
}

Element sum_along(const Operation& o, Sizes at) {
  const std::size_t axis = static_cast<std::size_t>(o.t.node->axis);
  std::vector<Element> terms;
  at.insert(at.begin() + o.t.node->axis, 0);
  for (; at[axis] < o.x.sizes[axis]; ++at[axis]) terms.push_back(element(o.x, at));
  return sum(o, terms);
}

Element enlarge(const Operation& o, Sizes at) {
  for (std::size_t d : {2U, 3U}) {
    at[d] -= (3 - o.x.sizes[d]) / 2;
    if (at[d] < 0 || at[d] >= o.x.sizes[d]) return o.a.constant(0, 1);
  }
  return element(o.x, at);
}

Element result(const Operation& o, const Sizes& at) {
  switch (o.t.node->kind) {
    case Kind::linear: return linear(o, at, false);
    case Kind::linear_bias: return linear(o, at, true);
    case Kind::batch_matmul: return batch_matmul(o, at);
    case Kind::conv: return conv(o, at, false);
    case Kind::conv_bias: return conv(o, at, true);
    case Kind::max_pool:
    case Kind::average_pool: return pool(o, at);
    case Kind::add: return added(o, at);
    case Kind::multiply: return o.a.multiply(element(o.x, at), element(in(o, 1), at));
    case Kind::unary: return applied(o, o.t.node->function, element(o.x, at));
    case Kind::dropout: return dropped(o, at);
    case Kind::scale: return o.a.multiply(element(o.x, at), element(in(o, 1), {}));
    case Kind::concat: return concat(o, at);
    case Kind::split0: return shifted(o, at, 0);
    case Kind::split1: return shifted(o, at, o.t.node->at);
    case Kind::transpose: return transpose(o, at);
    case Kind::sum: return sum_along(o, at);
    case Kind::enlarge: return enlarge(o, at);
    case Kind::softmax: return along_row(o, "softmax", at);
    case Kind::layer_norm: return layer_norm(o, at);
    case Kind::rms_norm: return rms_norm(o, at);
    case Kind::batch_norm: return batch_norm(o, at);
    case Kind::embedding: return embedding(o, at);
    case Kind::embedding_bag: return embedding_bag(o, at);
    case Kind::attention: return attention(o, at);
    default: break;
  }
  BASE_CHECK(false, "{} computes nothing", name_of(o.t.node->kind));
  return 0;
}

}  // namespace

Shard compute(const Task& t, Symbolic& algebra) {
  const Operation op{t, algebra};
  return made(t.sizes, [&](const Sizes& at) { return result(op, at); });
}

}  // namespace rules
