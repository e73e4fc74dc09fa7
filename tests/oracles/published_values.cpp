// Published rules evaluated as their file means them, over the prime field.
//
// That meaning is not written down anywhere; it is the one under which, on small tensors, every published rule holds (unlike any other that
// was tried). Rules that hold on small tensors only are false: they are found on larger ones.

#include "tests/oracles/published.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/hash.hpp"
#include "pcg/evaluator/field.hpp"

namespace rules {
namespace {

namespace field = pcg::field;
using PublishedSizes = std::array<std::int64_t, 3>;

// Where concatenations joined a dim: what Split undoes.
struct Joint {
  std::int64_t at = 0;
  std::shared_ptr<const Joint> before, after;
};
using Joints = std::shared_ptr<const Joint>;
Joints scaled(const Joints& j, std::int64_t by, std::int64_t over) {
  if (!j) return j;
  return std::make_shared<Joint>(Joint{j->at * by / over, scaled(j->before, by, over), scaled(j->after, by, over)});
}

struct Tensor {
  PublishedSizes sizes{}, degree{1, 1, 1};
  std::array<Joints, 3> joints;
  std::vector<std::uint32_t> elements;
};

template <class F>
Tensor made(const PublishedSizes& sizes, const Tensor& like, F&& element) {
  Tensor t{sizes, like.degree, like.joints, {}};
  for (std::int64_t r = 0; r < sizes[0]; ++r)
    for (std::int64_t n = 0; n < sizes[1]; ++n)
      for (std::int64_t c = 0; c < sizes[2]; ++c) t.elements.push_back(element(PublishedSizes{r, n, c}));
  return t;
}
std::uint32_t element(const Tensor& t, const PublishedSizes& at) {
  return t.elements[static_cast<std::size_t>((at[0] * t.sizes[1] + at[1]) * t.sizes[2] + at[2])];
}

std::uint32_t activated(Function f, std::uint32_t x) {
  return f == Function::none ? x : field::Hash(base::hash_text(name_of(f)))(x).element();
}

// Linear reads the first replica of its inputs (`all`: every replica, each by itself).
std::optional<Tensor> linear(const PublishedOp& op, const Tensor& x, const Tensor& w, bool all) {
  const std::int64_t chunks = x.degree[2];
  if (x.sizes[2] != w.sizes[2] || chunks != w.degree[2] || x.sizes[2] % chunks != 0) return std::nullopt;
  const std::int64_t replicas = all ? std::max(x.sizes[0], w.sizes[0]) : 1, length = x.sizes[2] / chunks;
  Tensor y = made({replicas * chunks, x.sizes[1], w.sizes[1]}, x, [&](const PublishedSizes& at) {
    const std::int64_t chunk = at[0] % chunks, replica = at[0] / chunks;
    std::uint64_t sum = 0;
    for (std::int64_t c = chunk * length; c < (chunk + 1) * length; ++c)
      sum = field::fold(sum + std::uint64_t{element(x, {replica % x.sizes[0], at[1], c})} * element(w, {replica % w.sizes[0], at[2], c}));
    return activated(op.function, field::reduce(sum));
  });
  y.degree = {chunks, x.degree[1], w.degree[1]};
  y.joints = {nullptr, x.joints[1], w.joints[1]};
  return y;
}

std::optional<Tensor> concat(std::size_t k, const Tensor& a, const Tensor& b) {
  if (a.degree != b.degree) return std::nullopt;
  PublishedSizes sizes = a.sizes;
  for (std::size_t d = 0; d < 3; ++d)
    if (d != k && a.sizes[d] != b.sizes[d]) return std::nullopt;
  sizes[k] += b.sizes[k];
  Tensor t = made(sizes, a, [&](PublishedSizes at) {
    if (at[k] < a.sizes[k]) return element(a, at);
    at[k] -= a.sizes[k];
    return element(b, at);
  });
  t.joints[k] = std::make_shared<Joint>(Joint{a.sizes[k], a.joints[k], b.joints[k]});
  return t;
}

std::optional<Tensor> parallel(const PublishedOp& op, const Tensor& x) {
  const auto k = static_cast<std::size_t>(op.dim);
  Tensor t = x;
  switch (op.kind) {
    case PublishedKind::partition: t.degree[k] *= 2; return t;
    case PublishedKind::combine:
      if (x.degree[k] % 2 != 0) return std::nullopt;
      t.degree[k] /= 2;
      return t;
    case PublishedKind::replicate: {
      PublishedSizes sizes = x.sizes;
      sizes[k] *= 2;
      t = made(sizes, x, [&](PublishedSizes at) { return at[k] /= 2, element(x, at); });
      t.degree[k] *= 2;
      t.joints[k] = scaled(x.joints[k], 2, 1);
      return t;
    }
    default: {  // reduce
      if (x.sizes[k] % 2 != 0) return std::nullopt;
      PublishedSizes sizes = x.sizes;
      sizes[k] /= 2;
      t = made(sizes, x, [&](PublishedSizes at) {
        at[k] *= 2;
        const std::uint32_t first = element(x, at);
        ++at[k];
        return field::add(first, element(x, at));
      });
      t.degree[k] = std::max<std::int64_t>(1, x.degree[k] / 2);
      t.joints[k] = scaled(x.joints[k], 1, 2);
      return t;
    }
  }
}

struct Run {
  bool all_replicas;
  std::map<int, Tensor> variables;

  std::optional<std::vector<std::vector<Tensor>>> operator()(const PublishedSide& side) const {
    std::vector<std::vector<Tensor>> values;
    for (const PublishedOp& op : side) {
      std::vector<const Tensor*> in;
      for (const PublishedRef& r : op.inputs) {
        const Tensor* t = get(values, r);
        if (t == nullptr) return std::nullopt;
        in.push_back(t);
      }
      auto y = run(op, in);
      if (!y) return std::nullopt;
      values.push_back(std::move(*y));
    }
    return values;
  }
  const Tensor* get(const std::vector<std::vector<Tensor>>& values, const PublishedRef& r) const {
    if (r.op < 0) return &variables.at(r.op);
    const std::vector<Tensor>& v = values[static_cast<std::size_t>(r.op)];
    return static_cast<std::size_t>(r.output) < v.size() ? &v[static_cast<std::size_t>(r.output)] : nullptr;
  }

 private:
  std::optional<std::vector<Tensor>> run(const PublishedOp& op, const std::vector<const Tensor*>& in) const {
    const Tensor& x = *in[0];
    const auto one = [](std::optional<Tensor> t) -> std::optional<std::vector<Tensor>> {
      if (!t) return std::nullopt;
      return std::vector<Tensor>{std::move(*t)};
    };
    switch (op.kind) {
      case PublishedKind::linear: return one(linear(op, x, *in[1], all_replicas));
      case PublishedKind::relu:
        return one(made(x.sizes, x, [&](const PublishedSizes& at) { return activated(Function::relu, element(x, at)); }));
      case PublishedKind::add:
      case PublishedKind::multiply:
        if (x.sizes != in[1]->sizes || x.degree != in[1]->degree) return std::nullopt;
        return one(made(x.sizes, x, [&](const PublishedSizes& at) {
          const std::uint32_t a = element(x, at), b = element(*in[1], at);
          return op.kind == PublishedKind::add ? field::add(a, b) : field::multiply(a, b);
        }));
      case PublishedKind::concat: return one(concat(static_cast<std::size_t>(op.dim), x, *in[1]));
      case PublishedKind::split: return split(static_cast<std::size_t>(op.dim), x);
      default: return one(parallel(op, x));
    }
  }
  static std::optional<std::vector<Tensor>> split(std::size_t k, const Tensor& x) {
    const Joints j = x.joints[k];
    if (!j) return std::nullopt;
    PublishedSizes first = x.sizes, second = x.sizes;
    first[k] = j->at;
    second[k] -= j->at;
    std::vector<Tensor> parts{made(first, x, [&](const PublishedSizes& at) { return element(x, at); }),
                              made(second, x, [&](PublishedSizes at) { return at[k] += j->at, element(x, at); })};
    parts[0].joints[k] = j->before;
    parts[1].joints[k] = j->after;
    return parts;
  }
};

std::string name_of(int variable) { return fmt::format("{}{}", variable >= -3 ? "x" : "w", -variable); }

std::set<int> variables_of(const PublishedSide& side) {
  std::set<int> all;
  for (const PublishedOp& op : side)
    for (const PublishedRef& r : op.inputs)
      if (r.op < 0) all.insert(r.op);
  return all;
}

Tensor drawn(int variable, const PublishedSizes& sizes, std::uint64_t seed) {
  std::uint64_t i = 0;
  return made(sizes, {}, [&](const PublishedSizes&) { return field::Hash(seed)(static_cast<std::uint64_t>(-variable))(i++).element(); });
}

struct Scale {
  std::int64_t rows, columns;
};

Run run_at(const PublishedRule& r, const Scale& s, bool all_replicas) {
  Run run{all_replicas, {}};
  std::set<int> all = variables_of(r.source);
  all.merge(variables_of(r.target));
  for (const auto& [from, to] : r.outputs)
    for (const int v : {from.op, to.op})
      if (v < 0) all.insert(v);
  for (const int v : all)
    run.variables[v] = drawn(v, v >= -3 ? PublishedSizes{1, s.rows, s.columns} : PublishedSizes{1, s.columns, s.columns}, 1);
  return run;
}

std::optional<std::string> difference(const Tensor& a, const Tensor& b) {
  if (a.sizes != b.sizes) return fmt::format("{} on the left, {} on the right", a.sizes, b.sizes);
  if (a.degree != b.degree) return fmt::format("degrees {} on the left, {} on the right", a.degree, b.degree);
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    if (a.elements[i] != b.elements[i]) {
      const auto n = static_cast<std::int64_t>(i), plane = a.sizes[1] * a.sizes[2];
      return fmt::format("at [{}, {}, {}]: {} on the left, {} on the right", n / plane, n % plane / a.sizes[2], n % a.sizes[2],
                         a.elements[i], b.elements[i]);
    }
  return std::nullopt;
}

std::optional<std::string> values_differ(const PublishedRule& r, const Scale& s) {
  const Run run = run_at(r, s, false);
  const auto left = run(r.source), right = run(r.target);
  if (!left || !right) return std::nullopt;
  for (std::size_t o = 0; o < r.outputs.size(); ++o) {
    const Tensor *a = run.get(*left, r.outputs[o].first), *b = run.get(*right, r.outputs[o].second);
    if (a == nullptr || b == nullptr) continue;
    if (const auto d = difference(*a, *b)) {
      std::string sizes;
      for (const auto& [v, t] : run.variables) sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", name_of(v), t.sizes);
      return fmt::format("{}: output {} {}", sizes, o, *d);
    }
  }
  return std::nullopt;
}

// The variables that a tensor of a side is computed from.
std::set<int> variables_behind(const PublishedSide& side, const PublishedRef& tensor) {
  std::vector<std::set<int>> behind;  // by operator; each reads variables and earlier ones
  const auto of = [&](const PublishedRef& r) { return r.op < 0 ? std::set<int>{r.op} : behind[static_cast<std::size_t>(r.op)]; };
  for (const PublishedOp& op : side) {
    behind.emplace_back();
    for (const PublishedRef& input : op.inputs) behind.back().merge(of(input));
  }
  return of(tensor);
}

// Changes a variable: the place of a tensor that is another one then, and both values.
std::optional<std::string> change(const PublishedSide& side, const PublishedRef& tensor, Run run, int variable) {
  const auto before = run(side);
  run.variables[variable] = drawn(variable, run.variables[variable].sizes, 2);
  const auto after = run(side);
  if (!before || !after) return std::nullopt;
  const Tensor *a = run.get(*before, tensor), *b = run.get(*after, tensor);
  if (a == nullptr || b == nullptr || a->elements == b->elements) return std::nullopt;
  const auto at = static_cast<std::int64_t>(std::ranges::mismatch(a->elements, b->elements).in1 - a->elements.begin());
  const std::int64_t plane = a->sizes[1] * a->sizes[2];
  return fmt::format("at replica {}, row {}, column {} from {} to {}", at / plane, at % plane / a->sizes[2], at % a->sizes[2],
                     a->elements[static_cast<std::size_t>(at)], b->elements[static_cast<std::size_t>(at)]);
}

// An output of one side that depends on a variable, which the other side computes without that variable, is another one at another value
// of it: the two are unequal at one value at least.
std::optional<std::string> depends_on_stranger(const PublishedRule& r, const Scale& s) {
  const Run run = run_at(r, s, true);
  for (std::size_t o = 0; o < r.outputs.size(); ++o) {
    const std::set<int> left = variables_behind(r.source, r.outputs[o].first), right = variables_behind(r.target, r.outputs[o].second);
    for (const bool source : {true, false})
      for (const int v : source ? left : right) {
        if ((source ? right : left).contains(v)) continue;
        const PublishedRef& tensor = source ? r.outputs[o].first : r.outputs[o].second;
        if (const auto changed = change(source ? r.source : r.target, tensor, run, v))
          return fmt::format("output {} does not depend on {} on the {}, and another value of it changes it on the {} {}", o, name_of(v),
                             source ? "right" : "left", source ? "left" : "right", *changed);
      }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refute(const PublishedRule& r) {
  if (auto c = depends_on_stranger(r, {4, 8})) return c;
  for (const Scale& s : {Scale{2, 4}, Scale{4, 8}, Scale{8, 16}, Scale{16, 8}})
    if (auto c = values_differ(r, s)) return c;
  return std::nullopt;
}

}  // namespace rules
