#include "pcg/models/onnx/folding.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

namespace pcg::models::onnx {
namespace {

using base::Refusal;
using Folded = base::Attempt<std::optional<Tensor>>;

Tensor blank(Element element, Sizes sizes, bool reals) {
  Tensor result{.element = element, .sizes = std::move(sizes)};
  if (reals) result.reals.emplace(result.count());
  else result.integers.emplace(result.count());
  return result;
}
void copy(const Tensor& from, std::size_t i, Tensor& to, std::size_t at) {
  if (to.reals) (*to.reals)[at] = (*from.reals)[i];
  else (*to.integers)[at] = (*from.integers)[i];
}

// An output of these sizes whose element i is element from(i) of t.
Folded picked(const Tensor& t, const Sizes& sizes, const std::function<std::size_t(std::size_t)>& from) {
  if (Tensor{.sizes = sizes}.count() > kMostNumbers) return std::optional<Tensor>();
  Tensor result = blank(t.element, sizes, t.reals.has_value());
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.count()); ++i) copy(t, from(i), result, i);
  return std::optional(std::move(result));
}

Folded resized(const Tensor& t, const std::optional<Sizes>& sizes) {
  if (!sizes) return Refusal{"its sizes do not fit"};
  Tensor result = t;
  result.sizes = *sizes;
  return std::optional(std::move(result));
}

Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

// The element of an array that is read at element i of one of these sizes, where a step along each dim is so far in it.
std::size_t element_at(std::size_t i, const Sizes& sizes, const Sizes& steps, std::int64_t first = 0) {
  auto rest = static_cast<std::int64_t>(i);
  for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) first += rest % sizes[d] * steps[d];
  return static_cast<std::size_t>(first);
}
// The steps in an array of `sizes` that is broadcast to `wide`.
Sizes broadcast_steps(const Sizes& wide, const Sizes& sizes) {
  const Sizes strides = strides_of(sizes);
  Sizes steps(wide.size(), 0);
  for (std::size_t d = 0; d < sizes.size(); ++d) steps[wide.size() - sizes.size() + d] = sizes[d] == 1 ? 0 : strides[d];
  return steps;
}

// a / b of integers is C's.
std::optional<std::int64_t> integer_result(const std::string& type, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  bool over = false;
  if (type == "Add") over = __builtin_add_overflow(a, b, &r);
  else if (type == "Sub") over = __builtin_sub_overflow(a, b, &r);
  else if (type == "Mul") over = __builtin_mul_overflow(a, b, &r);
  else if (type == "Min") r = std::min(a, b);
  else if (type == "Max") r = std::max(a, b);
  else if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  else if (type == "Div") r = a / b;
  else r = (a % b + b) % b;  // Mod
  return over ? std::nullopt : std::optional(r);
}
double real_result(const std::string& type, double a, double b) {
  if (type == "Add") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (type == "Div") return a / b;
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  return type == "Pow" ? std::pow(a, b) : std::fmod(a, b);
}
bool truth(const std::string& type, double a, double b) {
  if (type == "Equal") return a == b;
  if (type == "Less") return a < b;
  if (type == "LessOrEqual") return a <= b;
  if (type == "Greater") return a > b;
  if (type == "GreaterOrEqual") return a >= b;
  if (type == "And") return a != 0 && b != 0;
  if (type == "Or") return a != 0 || b != 0;
  return (a != 0) != (b != 0);  // Xor
}

const std::set<std::string> kArithmetic = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Mod", "Pow"};
const std::set<std::string> kComparisons = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor"};

Folded two(const std::string& type, const Tensor& a, const Tensor& b) {
  const auto sizes = broadcast(a.sizes, b.sizes);
  if (!sizes) return Refusal{"its sizes do not fit"};
  const bool compares = kComparisons.contains(type), real = a.element == Element::real || b.element == Element::real || type == "Pow";
  if (Tensor{.sizes = *sizes}.count() > kMostNumbers) return std::optional<Tensor>();
  Tensor result = blank(compares ? Element::boolean : real ? Element::real : Element::integer, *sizes, !compares && real);
  const Sizes a_steps = broadcast_steps(*sizes, a.sizes), b_steps = broadcast_steps(*sizes, b.sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.count()); ++i) {
    const std::size_t x = element_at(i, *sizes, a_steps), y = element_at(i, *sizes, b_steps);
    if (compares) (*result.integers)[i] = truth(type, a.number(x), b.number(y));
    else if (real) (*result.reals)[i] = real_result(type, a.number(x), b.number(y));
    else if (const auto r = integer_result(type, (*a.integers)[x], (*b.integers)[y])) (*result.integers)[i] = *r;
    else return Refusal{"its integers divide by zero or overflow"};
  }
  return std::optional(std::move(result));
}

Folded one(const std::string& type, const Tensor& t) {
  Tensor result = t;
  if (type == "Not") {
    if (!t.integers) return Refusal{"not of numbers that are not true or false"};
    for (std::int64_t& v : *result.integers) v = v == 0;
    return std::optional(std::move(result));
  }
  if (type == "Neg" || type == "Abs") {
    if (result.integers)
      for (std::int64_t& v : *result.integers) v = v == INT64_MIN ? INT64_MAX : type == "Neg" || v < 0 ? -v : v;
    if (result.reals)
      for (double& v : *result.reals) v = type == "Neg" ? -v : std::abs(v);
    return std::optional(std::move(result));
  }
  if (!t.reals) return Refusal{"a root of integers"};
  for (double& v : *result.reals)
    v = type == "Sqrt"    ? std::sqrt(v)
        : type == "Floor" ? std::floor(v)
        : type == "Ceil"  ? std::ceil(v)
        : type == "Exp"   ? std::exp(v)
                          : 1 / v;
  return std::optional(std::move(result));
}

Folded cast(const Tensor& t, Element to) {
  Tensor result = blank(to, t.sizes, to == Element::real);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.count()); ++i) {
    if (result.reals) (*result.reals)[i] = t.number(i);
    else if (to == Element::boolean) (*result.integers)[i] = t.number(i) != 0;
    else if (t.integers) (*result.integers)[i] = (*t.integers)[i];
    else if (const double v = (*t.reals)[i]; std::abs(v) < 9e18) (*result.integers)[i] = static_cast<std::int64_t>(v);
    else (*result.integers)[i] = v > 0 ? INT64_MAX : INT64_MIN;
  }
  return std::optional(std::move(result));
}

Folded gather(const Node& node, const Tensor& t, const Tensor& index) {
  const auto axis = axis_of(node.integer("axis", 0), t.sizes.size());
  if (!axis || !index.integers) return Refusal{"its axis or its indices do not fit"};
  Sizes sizes(t.sizes.begin(), t.sizes.begin() + static_cast<std::ptrdiff_t>(*axis));
  sizes.insert(sizes.end(), index.sizes.begin(), index.sizes.end());
  sizes.insert(sizes.end(), t.sizes.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, t.sizes.end());
  const std::int64_t size = t.sizes[*axis], inner = strides_of(t.sizes)[*axis], middle = index.count();
  for (const std::int64_t i : *index.integers)
    if (i < -size || i >= size) return Refusal{fmt::format("index {} of {}", i, size)};
  return picked(t, sizes, [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t place = (*index.integers)[static_cast<std::size_t>(at / inner % middle)];
    return static_cast<std::size_t>((at / inner / middle * size + (place < 0 ? place + size : place)) * inner + at % inner);
  });
}

Folded slice(const Node& node, const Tensor& t, KnownInputs inputs) {
  const auto ranges = ranges_of(node, t.sizes, inputs);
  if (!ranges) return Refusal{"its ranges do not fit"};
  const Sizes strides = strides_of(t.sizes);
  Sizes sizes = t.sizes, begin(t.sizes.size(), 0), steps = strides;
  for (const Range& r : *ranges) {
    sizes[r.axis] = r.length;
    begin[r.axis] = r.begin * strides[r.axis];
    steps[r.axis] = r.step * strides[r.axis];
  }
  const std::int64_t first = std::accumulate(begin.begin(), begin.end(), std::int64_t{0});
  return picked(t, sizes, [&](std::size_t i) { return element_at(i, sizes, steps, first); });
}

Folded concat(const Node& node, KnownInputs inputs) {
  if (inputs.empty() || inputs[0] == nullptr) return Refusal{"it has no inputs"};
  const auto axis = axis_of(node.integer("axis", 0), inputs[0]->sizes.size());
  if (!axis) return Refusal{"its axis does not fit"};
  Tensor result{.element = inputs[0]->element, .sizes = inputs[0]->sizes};
  result.sizes[*axis] = 0;
  for (const Tensor* t : inputs) {
    if (t == nullptr || t->sizes.size() != result.sizes.size() || t->reals.has_value() != inputs[0]->reals.has_value())
      return Refusal{"its inputs do not fit"};
    for (std::size_t d = 0; d < t->sizes.size(); ++d)
      if (d != *axis && t->sizes[d] != result.sizes[d]) return Refusal{"its inputs do not fit"};
    result.sizes[*axis] += t->sizes[*axis];
  }
  if (result.count() > kMostNumbers) return std::optional<Tensor>();
  if (inputs[0]->reals) result.reals.emplace();
  else result.integers.emplace();
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < *axis; ++d) outer *= result.sizes[d];
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Tensor* t : inputs) {
      const std::int64_t run = outer == 0 ? 0 : t->count() / outer;
      if (result.reals) result.reals->insert(result.reals->end(), t->reals->begin() + o * run, t->reals->begin() + (o + 1) * run);
      else result.integers->insert(result.integers->end(), t->integers->begin() + o * run, t->integers->begin() + (o + 1) * run);
    }
  return std::optional(std::move(result));
}

Folded transpose(const Node& node, const Tensor& t) {
  const std::size_t rank = t.sizes.size();
  Sizes order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(rank - 1 - d);
  if (const auto given = node.integers("perm")) order = *given;
  Sizes sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t d = 0; d < std::max(rank, sorted.size()); ++d)
    if (sorted.size() != rank || sorted[d] != static_cast<std::int64_t>(d)) return Refusal{"its order of dims does not fit"};
  const Sizes strides = strides_of(t.sizes);
  Sizes sizes, steps;
  for (const std::int64_t o : order) {
    sizes.push_back(t.sizes[static_cast<std::size_t>(o)]);
    steps.push_back(strides[static_cast<std::size_t>(o)]);
  }
  return picked(t, sizes, [&](std::size_t i) { return element_at(i, sizes, steps); });
}

// The lower or upper triangle of the last two dims; zero elsewhere.
Folded triangle(const Node& node, const Tensor& t, const Tensor* diagonal) {
  if (t.sizes.size() < 2) return Refusal{"it has no two dims"};
  const std::int64_t columns = t.sizes.back(), rows = t.sizes[t.sizes.size() - 2];
  const auto k = static_cast<std::int64_t>(diagonal == nullptr ? 0 : diagonal->scalar().value_or(0));
  const bool upper = node.integer("upper", 1) != 0;
  Tensor result = t;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const std::int64_t row = i / columns % rows, column = i % columns;
    if (upper ? column - row >= k : column - row <= k) continue;
    if (result.reals) (*result.reals)[static_cast<std::size_t>(i)] = 0;
    else (*result.integers)[static_cast<std::size_t>(i)] = 0;
  }
  return std::optional(std::move(result));
}

Folded range(const Tensor& first, const Tensor& last, const Tensor& step) {
  const auto from = first.scalar(), to = last.scalar(), by = step.scalar();
  if (!from || !to || !by || *by == 0) return Refusal{"its ends are no numbers"};
  const double count = std::max(0.0, std::ceil((*to - *from) / *by));
  if (!(count <= static_cast<double>(kMostNumbers))) return std::optional<Tensor>();
  Tensor result = blank(first.element, {static_cast<std::int64_t>(count)}, first.reals.has_value());
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.count()); ++i) {
    const double v = *from + static_cast<double>(i) * *by;
    if (result.reals) (*result.reals)[i] = v;
    else (*result.integers)[i] = static_cast<std::int64_t>(v);
  }
  return std::optional(std::move(result));
}

// A tensor of one element, repeated.
Folded filled(const Tensor& one, const Tensor& shape) {
  if (!shape.integers || shape.sizes.size() != 1) return Refusal{"its sizes are no list of integers"};
  Tensor result{.sizes = *shape.integers};
  for (const std::int64_t size : result.sizes)
    if (size < 0 || size > kMostNumbers) return std::optional<Tensor>();
  double count = 1;
  for (const std::int64_t size : result.sizes) count *= static_cast<double>(size);
  if (count > static_cast<double>(kMostNumbers)) return std::optional<Tensor>();
  return picked(one, *shape.integers, [](std::size_t) { return std::size_t{0}; });
}

Folded where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const auto branches = broadcast(a.sizes, b.sizes);
  const auto sizes = branches ? broadcast(condition.sizes, *branches) : std::nullopt;
  if (!sizes || a.reals.has_value() != b.reals.has_value()) return Refusal{"its inputs do not fit"};
  if (Tensor{.sizes = *sizes}.count() > kMostNumbers) return std::optional<Tensor>();
  Tensor result = blank(a.element, *sizes, a.reals.has_value());
  const Sizes steps = broadcast_steps(*sizes, condition.sizes), a_steps = broadcast_steps(*sizes, a.sizes),
              b_steps = broadcast_steps(*sizes, b.sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.count()); ++i) {
    const bool is_true = condition.number(element_at(i, *sizes, steps)) != 0;
    copy(is_true ? a : b, element_at(i, *sizes, is_true ? a_steps : b_steps), result, i);
  }
  return std::optional(std::move(result));
}

Folded expand(const Tensor& t, const Tensor& shape) {
  const auto sizes = shape.integers ? broadcast(t.sizes, *shape.integers) : std::nullopt;
  if (!sizes || std::ranges::any_of(*sizes, [](std::int64_t size) { return size < 0; })) return Refusal{"its sizes do not fit"};
  const Sizes steps = broadcast_steps(*sizes, t.sizes);
  return picked(t, *sizes, [&](std::size_t i) { return element_at(i, *sizes, steps); });
}

Folded constant(const Node& node) {
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* t = std::get_if<Tensor>(&attribute)) return std::optional(*t);
    if (const auto* i = std::get_if<std::int64_t>(&attribute)) return std::optional(Tensor{Element::integer, {}, Sizes{*i}, {}});
    if (const auto* r = std::get_if<double>(&attribute)) return std::optional(Tensor{Element::real, {}, {}, std::vector{*r}});
    if (const auto* i = std::get_if<Sizes>(&attribute))
      return std::optional(Tensor{Element::integer, {static_cast<std::int64_t>(i->size())}, *i, {}});
    if (const auto* r = std::get_if<std::vector<double>>(&attribute))
      return std::optional(Tensor{Element::real, {static_cast<std::int64_t>(r->size())}, {}, *r});
  }
  return std::optional<Tensor>();
}

Folded product(const Tensor& t) {
  if (!t.integers) return std::optional<Tensor>();
  std::int64_t p = 1;
  for (const std::int64_t v : *t.integers)
    if (__builtin_mul_overflow(p, v, &p)) return Refusal{"its product overflows"};
  return std::optional(Tensor{Element::integer, {}, Sizes{p}, {}});
}

}  // namespace

Folded folded(const Node& node, KnownInputs in) {
  const std::string& type = node.type;
  if (type == "Constant") return constant(node);
  const auto has = [&](std::size_t n) {
    return in.size() >= n &&
           std::all_of(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n), [](const Tensor* t) { return t != nullptr; });
  };
  if (!has(1)) return std::optional<Tensor>();
  const Tensor& t = *in[0];
  const Tensor* second = in.size() > 1 ? in[1] : nullptr;
  if (type == "Identity") return std::optional(t);
  if (type == "Cast") return cast(t, element_of(node.integer("to", 1)));
  if (type == "Concat") return concat(node, in);
  if (type == "Slice") return slice(node, t, in);
  if (type == "Transpose") return transpose(node, t);
  if (type == "Trilu") return triangle(node, t, second);
  if (type == "ReduceProd") return product(t);
  if (type == "Squeeze") return resized(t, squeezed(t.sizes, axes_of(node, second)));
  if (type == "ConstantOfShape") {
    const auto* value = node.attribute<Tensor>("value");
    if (value != nullptr && (value->count() != 1 || !value->is_known())) return Refusal{"its value is not one number"};
    return filled(value != nullptr ? *value : Tensor{Element::real, {1}, {}, std::vector{0.0}}, t);
  }
  if (std::set<std::string>{"Not", "Neg", "Abs", "Sqrt", "Floor", "Ceil", "Exp", "Reciprocal"}.contains(type)) return one(type, t);
  if (type == "Unsqueeze") {
    const auto axes = axes_of(node, second);
    return resized(t, axes ? unsqueezed(t.sizes, *axes) : std::nullopt);
  }
  if (!has(2)) return std::optional<Tensor>();
  if (kArithmetic.contains(type) || kComparisons.contains(type)) {
    Folded result = two(type, t, *second);
    for (std::size_t i = 2; result && *result && i < in.size() && in[i] != nullptr; ++i) result = two(type, Tensor(**result), *in[i]);
    return result;
  }
  if (type == "Gather") return gather(node, t, *second);
  if (type == "Expand") return expand(t, *second);
  if (type == "Reshape")
    return resized(t, second->integers ? reshaped(t.sizes, *second->integers, node.integer("allowzero", 0) != 0) : std::nullopt);
  if (!has(3)) return std::optional<Tensor>();
  if (type == "Where") return where(t, *second, *in[2]);
  if (type == "Range") return range(t, *second, *in[2]);
  return std::optional<Tensor>();
}

}  // namespace pcg::models::onnx
