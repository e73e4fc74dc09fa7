#include "search/rules/axioms/shards.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace rules {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t count(const Sizes& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

// Coordinates of the elements of a shard, one after another.
struct Walk {
  explicit Walk(const Sizes& s) : sizes(s), at(s.size(), 0), left(count(s)) {}
  bool done() const { return left == 0; }
  void next() {
    --left;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) return;
      at[d] = 0;
    }
  }
  const Sizes& sizes;
  Sizes at;
  std::int64_t left;
};

Element element(const Shard& p, const Sizes& at) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < at.size(); ++d) i = i * p.sizes[d] + at[d];
  return p.elements[static_cast<std::size_t>(i)];
}

struct Operation {
  const Task& t;
  Algebra& a;
  const Shard& x = *t.inputs.at(0);

  const Shard& in(std::size_t i) const { return *t.inputs.at(i); }

  Element activated(Element e) const { return applied(t.node->function, e); }
  Element applied(Function f, Element e) const {
    if (f == Function::none) return e;
    return a.apply(fmt::format("f{}", static_cast<int>(f)), std::span(&e, 1));
  }
  Element sum(const std::vector<Element>& terms) const {
    if (terms.empty()) return a.constant(0, 1);
    Element s = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) s = a.add(s, terms[i]);
    return s;
  }

  Element linear(const Sizes& at, bool bias) const {
    std::vector<Element> terms;
    for (std::int64_t k = 0; k < x.sizes[1]; ++k) terms.push_back(a.multiply(element(x, {at[0], k}), element(in(1), {k, at[1]})));
    if (bias && t.first_summand && t.blocks[0][1] == 0) terms.push_back(element(in(2), {at[1]}));
    return activated(sum(terms));
  }
  Element batch_matmul(const Sizes& at) const {
    std::vector<Element> terms;
    for (std::int64_t k = 0; k < x.sizes[2]; ++k)
      terms.push_back(a.multiply(element(x, {at[0], at[1], k}), element(in(1), {at[0], k, at[2]})));
    return sum(terms);
  }
  Element conv(const Sizes& at, bool bias) const {
    const Shard& w = in(1);
    const std::int64_t groups = x.sizes[1] / w.sizes[1], group = at[1] / (w.sizes[0] / groups);
    std::vector<Element> terms;
    for (std::int64_t c = 0; c < w.sizes[1]; ++c)
      for (std::int64_t i = 0; i < w.sizes[2]; ++i)
        for (std::int64_t j = 0; j < w.sizes[3]; ++j) {
          const std::int64_t h = t.row + at[2] + i - w.sizes[2] / 2, v = t.column + at[3] + j - w.sizes[3] / 2;
          if (h < 0 || v < 0 || h >= x.sizes[2] || v >= x.sizes[3]) continue;
          terms.push_back(a.multiply(element(x, {at[0], group * w.sizes[1] + c, h, v}), element(w, {at[1], c, i, j})));
        }
    if (bias && t.first_summand && t.blocks[1][1] == 0) terms.push_back(element(in(2), {at[1]}));
    return activated(sum(terms));
  }
  Element pool(const Sizes& at) const {
    const bool average = t.node->kind == Kind::average_pool;
    const Element outside = average ? a.constant(0, 1) : a.apply("lowest", {});
    std::vector<Element> window;
    for (std::int64_t i = -1; i <= 1; ++i)
      for (std::int64_t j = -1; j <= 1; ++j) {
        const std::int64_t h = t.row + at[2] + i, v = t.column + at[3] + j;
        const bool inside = h >= 0 && v >= 0 && h < x.sizes[2] && v < x.sizes[3];
        window.push_back(inside ? element(x, {at[0], at[1], h, v}) : outside);
      }
    return average ? a.multiply(a.constant(1, 9), sum(window)) : a.apply("max9", window);
  }
  // Position i of an unknown function of a vector along the last dim.
  Element along_row(const std::string& name, Sizes at) const {
    const std::int64_t position = at.back();
    std::vector<Element> row;
    for (at.back() = 0; at.back() < x.sizes.back(); ++at.back()) row.push_back(element(x, at));
    return a.apply(fmt::format("{}{}_{}", name, row.size(), position), row);
  }
  Element layer_norm(const Sizes& at) const {
    return a.add(a.multiply(along_row("norm", at), element(in(1), {at.back()})), element(in(2), {at.back()}));
  }
  Element rms_norm(const Sizes& at) const { return a.multiply(along_row("rms", at), element(in(1), {at.back()})); }
  Element batch_norm(const Sizes& at) const {
    std::vector<Element> channel;
    for (std::int64_t n = 0; n < x.sizes[0]; ++n)
      for (std::int64_t h = 0; h < x.sizes[2]; ++h)
        for (std::int64_t v = 0; v < x.sizes[3]; ++v) channel.push_back(element(x, {n, at[1], h, v}));
    const std::int64_t position = ((t.sample + at[0]) * x.sizes[2] + t.row + at[2]) * x.sizes[3] + t.column + at[3];
    const Element normal = a.apply(fmt::format("batch{}_{}", channel.size(), position), channel);
    return a.add(a.multiply(normal, element(in(1), {at[1]})), element(in(2), {at[1]}));
  }
  Element attention(const Sizes& at) const {  // each head is three columns of all positions, gathered
    std::vector<Element> head;
    for (std::int64_t s = 0; s < x.sizes[1]; ++s)
      for (std::int64_t c = 0; c < 3; ++c) head.push_back(element(x, {at[0], s, 3 * at[2] + c}));
    return a.apply(fmt::format("attention{}_{}", x.sizes[1], t.blocks[0][1] * t.sizes[1] + at[1]), head);
  }
  // The product of the index's one-hot vector and the part of the table that this shard holds. Whether the index is a row is an unknown
  // number here: what holds of all such numbers holds of 0 and 1.
  Element row_of(Element index, std::int64_t column) const {
    const Shard& w = in(1);
    const std::int64_t first = t.blocks[1][0] * w.sizes[0];
    std::vector<Element> terms;
    for (std::int64_t r = 0; r < w.sizes[0]; ++r)
      terms.push_back(a.multiply(a.apply(fmt::format("is{}", first + r), std::span(&index, 1)), element(w, {r, column})));
    return sum(terms);
  }
  Element embedding(const Sizes& at) const { return row_of(element(x, Sizes(at.begin(), at.end() - 1)), at.back()); }
  Element embedding_bag(const Sizes& at) const {
    std::vector<Element> terms;
    for (std::int64_t b = 0; b < x.sizes[1]; ++b) terms.push_back(row_of(element(x, {at[0], b}), at[1]));
    return sum(terms);
  }
  Element concat(Sizes at) const {
    const std::size_t axis = static_cast<std::size_t>(t.node->axis);
    if (at[axis] < x.sizes[axis]) return element(x, at);
    at[axis] -= x.sizes[axis];
    return element(in(1), at);
  }
  Element dropped(const Sizes& at) const {  // the mask is that of the whole tensor
    std::string name = "dropout";
    for (std::size_t d = 0; d < at.size(); ++d) name += fmt::format("_{}", at[d] + t.blocks[0][d] * t.sizes[d]);
    const Element e = element(x, at);
    return a.apply(name, std::span(&e, 1));
  }
  Element added(const Sizes& at) const {  // what has no summands of its own counts at the first one only
    if (t.through >= 0 && !t.first_summand) return element(in(static_cast<std::size_t>(t.through)), at);
    return a.add(element(x, at), element(in(1), at));
  }
  Element shifted(Sizes at, std::int64_t by) const {
    at[static_cast<std::size_t>(t.node->axis)] += by;
    return element(x, at);
  }
  Element transpose(Sizes at) const {
    std::swap(at[at.size() - 2], at.back());
    return element(x, at);
  }
  Element sum_along(Sizes at) const {
    const std::size_t axis = static_cast<std::size_t>(t.node->axis);
    std::vector<Element> terms;
    at.insert(at.begin() + t.node->axis, 0);
    for (; at[axis] < x.sizes[axis]; ++at[axis]) terms.push_back(element(x, at));
    return sum(terms);
  }
  Element enlarge(Sizes at) const {
    for (std::size_t d : {2U, 3U}) {
      at[d] -= (3 - x.sizes[d]) / 2;
      if (at[d] < 0 || at[d] >= x.sizes[d]) return a.constant(0, 1);
    }
    return element(x, at);
  }

  Element result(const Sizes& at) const {
    switch (t.node->kind) {
      case Kind::linear: return linear(at, false);
      case Kind::linear_bias: return linear(at, true);
      case Kind::batch_matmul: return batch_matmul(at);
      case Kind::conv: return conv(at, false);
      case Kind::conv_bias: return conv(at, true);
      case Kind::max_pool:
      case Kind::average_pool: return pool(at);
      case Kind::add: return added(at);
      case Kind::multiply: return a.multiply(element(x, at), element(in(1), at));
      case Kind::unary: return applied(t.node->function, element(x, at));
      case Kind::dropout: return dropped(at);
      case Kind::scale: return a.multiply(element(x, at), element(in(1), {}));
      case Kind::concat: return concat(at);
      case Kind::split0: return shifted(at, 0);
      case Kind::split1: return shifted(at, t.node->at);
      case Kind::transpose: return transpose(at);
      case Kind::sum: return sum_along(at);
      case Kind::enlarge: return enlarge(at);
      case Kind::softmax: return along_row("softmax", at);
      case Kind::layer_norm: return layer_norm(at);
      case Kind::rms_norm: return rms_norm(at);
      case Kind::batch_norm: return batch_norm(at);
      case Kind::embedding: return embedding(at);
      case Kind::embedding_bag: return embedding_bag(at);
      case Kind::attention: return attention(at);
      default: break;
    }
    BASE_CHECK(false, "{} computes nothing", name_of(t.node->kind));
    return 0;
  }
};

}  // namespace

Shard compute(const Task& t, Algebra& algebra) {
  const Operation op{t, algebra};
  Shard p{t.sizes, {}};
  for (Walk w(t.sizes); !w.done(); w.next()) p.elements.push_back(op.result(w.at));
  return p;
}

}  // namespace rules
