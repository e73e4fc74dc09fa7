#include <algorithm>
#include <cstdlib>
#include <utility>

#include "pcg/evaluator/field.hpp"
#include "search/rules/semantics/values.hpp"

namespace rules {
namespace {

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

Value applied(Function f, Value x) {
  for (std::uint32_t& e : x.elements) e = f == Function::relu2 ? pcg::field::multiply(positive(e), positive(e)) : positive(e);
  return x;
}

Value value_at(Node n, std::span<const Value* const> in, const SmallSizes& sizes) {
  if (n.kind == Kind::max_pool) return max_pool(*in[0]);
  const Function f = std::exchange(n.function, Function::none);
  return f == Function::none ? value_of(n, in, sizes) : applied(f, value_of(n, in, sizes));
}

Value small(Value x) {
  for (std::uint32_t& e : x.elements) e = pcg::field::add(e % 5, pcg::field::kPrime - 2);
  return x;
}

}  // namespace

std::optional<std::vector<Value>> whole_numbers_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes,
                                                   std::uint64_t seed) {
  std::vector<Value> values;
  values.reserve(t.nodes.size());
  for (const Node& n : t.nodes) {
    if (n.kind == Kind::variable) {
      const Variable& v = variables[n.variable];
      Value value = value_of(v, variables, sizes, seed);
      values.push_back(v.types[0].index ? std::move(value) : small(std::move(value)));
      continue;
    }
    std::array<const Value*, 3> in{};
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      in[i] = &values[n.inputs[i]];
      if (std::ranges::any_of(in[i]->elements, [](std::uint32_t e) { return std::abs(whole(e)) > kLargest; })) return std::nullopt;
    }
    values.push_back(value_at(n, std::span(in).first(n.inputs.size()), sizes));
  }
  return values;
}

}  // namespace rules
