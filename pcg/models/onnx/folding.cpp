#include "pcg/models/onnx/folding.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace pcg::models::onnx {
namespace {

using base::Refusal;
using Folded = base::Attempt<std::optional<Tensor>>;

double number(const Tensor& t, std::size_t i) { return t.reals ? (*t.reals)[i] : static_cast<double>((*t.integers)[i]); }

// An output of these sizes whose element i is element from(i) of t.
Folded picked(const Tensor& t, Sizes sizes, const std::function<std::size_t(std::size_t)>& from) {
  Tensor result{.element = t.element, .sizes = std::move(sizes)};
  const std::int64_t count = result.count();
  if (count > kMostNumbers) return std::optional<Tensor>();
  const auto n = static_cast<std::size_t>(count);
  if (t.reals) {
    result.reals.emplace(n);
    for (std::size_t i = 0; i < n; ++i) (*result.reals)[i] = (*t.reals)[from(i)];
  } else {
    result.integers.emplace(n);
    for (std::size_t i = 0; i < n; ++i) (*result.integers)[i] = (*t.integers)[from(i)];
  }
  return std::optional(std::move(result));
}

Folded resized(const Tensor& t, const std::optional<Sizes>& sizes) {
  if (!sizes) return Refusal{"its sizes do not fit"};
  Tensor result = t;
  result.sizes = *sizes;
  return std::optional(std::move(result));
}

// Distances between neighbours along each dim.
Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

// The element of an array of `sizes` that is read at element i of a broadcast to `wide`.
std::size_t element_at(std::size_t i, const Sizes& wide, const Sizes& sizes) {
  const Sizes strides = strides_of(sizes);
  auto rest = static_cast<std::int64_t>(i);
  std::int64_t at = 0;
  for (std::size_t d = wide.size(), back = 0; d-- > 0; ++back) {
    const std::int64_t place = wide[d] == 0 ? 0 : rest % wide[d];
    if (wide[d] > 0) rest /= wide[d];
    if (back < sizes.size() && sizes[sizes.size() - 1 - back] != 1) at += place * strides[sizes.size() - 1 - back];
  }
  return static_cast<std::size_t>(at);
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
  if (type == "Pow") return std::pow(a, b);
  return std::fmod(a, b);
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
  Tensor result{.element = compares ? Element::boolean : real ? Element::real : Element::integer, .sizes = *sizes};
  if (result.count() > kMostNumbers) return std::optional<Tensor>();
  const auto n = static_cast<std::size_t>(result.count());
  if (!compares && real) result.reals.emplace(n);
  else result.integers.emplace(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t x = element_at(i, *sizes, a.sizes), y = element_at(i, *sizes, b.sizes);
    if (compares) (*result.integers)[i] = truth(type, number(a, x), number(b, y));
    else if (real) (*result.reals)[i] = real_result(type, number(a, x), number(b, y));
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

// To the element type of this number in ONNX (9: bool; 1, 10, 11, 16: floats).
Folded cast(const Tensor& t, std::int64_t to) {
  Tensor result{.element = to == 9                                       ? Element::boolean
                           : to == 1 || to == 10 || to == 11 || to == 16 ? Element::real
                                                                         : Element::integer,
                .sizes = t.sizes};
  const auto n = static_cast<std::size_t>(t.count());
  if (result.element == Element::real) result.reals.emplace(n);
  else result.integers.emplace(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (result.reals) (*result.reals)[i] = number(t, i);
    else if (result.element == Element::boolean) (*result.integers)[i] = number(t, i) != 0;
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
  return picked(t, std::move(sizes), [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t place = (*index.integers)[static_cast<std::size_t>(at / inner % middle)];
    return static_cast<std::size_t>((at / inner / middle * size + (place < 0 ? place + size : place)) * inner + at % inner);
  });
}

Folded slice(const Node& node, const Tensor& t, KnownInputs inputs) {
  const auto ranges = ranges_of(node, t.sizes, inputs);
  if (!ranges) return Refusal{"its ranges do not fit"};
  Sizes sizes = t.sizes, begin(t.sizes.size(), 0), step(t.sizes.size(), 1);
  for (const Range& r : *ranges) {
    sizes[r.axis] = r.length;
    begin[r.axis] = r.begin;
    step[r.axis] = r.step;
  }
  const Sizes from = strides_of(t.sizes), to = strides_of(sizes);
  return picked(t, sizes, [&](std::size_t i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) at += (begin[d] + static_cast<std::int64_t>(i) / to[d] % sizes[d] * step[d]) * from[d];
    return static_cast<std::size_t>(at);
  });
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
  Sizes sizes;
  for (const std::int64_t o : order) sizes.push_back(t.sizes[static_cast<std::size_t>(o)]);
  const Sizes from = strides_of(t.sizes), to = strides_of(sizes);
  return picked(t, sizes, [&](std::size_t i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < rank; ++d) at += static_cast<std::int64_t>(i) / to[d] % sizes[d] * from[static_cast<std::size_t>(order[d])];
    return static_cast<std::size_t>(at);
  });
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
  Tensor result{.element = first.element, .sizes = {static_cast<std::int64_t>(count)}};
  if (first.reals) result.reals.emplace();
  else result.integers.emplace();
  for (std::int64_t i = 0; i < result.sizes[0]; ++i) {
    const double v = *from + static_cast<double>(i) * *by;
    if (result.reals) result.reals->push_back(v);
    else result.integers->push_back(static_cast<std::int64_t>(v));
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
  Tensor result{.element = a.element, .sizes = *sizes};
  if (result.count() > kMostNumbers) return std::optional<Tensor>();
  const auto n = static_cast<std::size_t>(result.count());
  if (a.reals) result.reals.emplace(n);
  else result.integers.emplace(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor& from = number(condition, element_at(i, *sizes, condition.sizes)) != 0 ? a : b;
    const std::size_t at = element_at(i, *sizes, from.sizes);
    if (a.reals) (*result.reals)[i] = (*from.reals)[at];
    else (*result.integers)[i] = (*from.integers)[at];
  }
  return std::optional(std::move(result));
}

Folded expand(const Tensor& t, const Tensor& shape) {
  const auto sizes = shape.integers ? broadcast(t.sizes, *shape.integers) : std::nullopt;
  if (!sizes || std::ranges::any_of(*sizes, [](std::int64_t size) { return size < 0; })) return Refusal{"its sizes do not fit"};
  return picked(t, *sizes, [&](std::size_t i) { return element_at(i, *sizes, t.sizes); });
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
  if (type == "Cast") return cast(t, node.integer("to", 1));
  if (type == "Concat") return concat(node, in);
  if (type == "Slice") return slice(node, t, in);
  if (type == "Transpose") return transpose(node, t);
  if (type == "Trilu") return triangle(node, t, second);
  if (type == "ReduceProd") return product(t);
  if (type == "Squeeze") return resized(t, squeezed(t.sizes, axes_of(node, second)));
  if (type == "ConstantOfShape") {
    const auto at = node.attributes.find("value");
    const auto* value = at == node.attributes.end() ? nullptr : std::get_if<Tensor>(&at->second);
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
