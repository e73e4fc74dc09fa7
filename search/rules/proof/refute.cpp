#include "search/rules/proof/prove.hpp"
#include "search/rules/semantics/values.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rules {
namespace {

// Where a split falls depends on which sizes are greater: each draw orders them anew.
std::uint64_t draws(const Equation& e) {
  const auto splits = [](const Node& n) { return is_split(n.kind); };
  return std::ranges::any_of(e.left.nodes, splits) || std::ranges::any_of(e.right.nodes, splits) ? 100 : 6;
}

std::vector<std::int64_t> coordinates(const std::vector<std::int64_t>& sizes, std::size_t element) {
  std::vector<std::int64_t> at(sizes.size());
  auto left = static_cast<std::int64_t>(element);
  for (std::size_t d = sizes.size(); d-- > 0; left /= sizes[d]) at[d] = left % sizes[d];
  return at;
}

std::string sizes_text(const Equation& e, const SmallSizes& sizes) {
  std::string text;
  for (const Variable& v : e.variables)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", v.name, value_of(v, e.variables, sizes, 0).sizes);
  return text;
}

std::optional<std::string> difference(const Value& l, const Value& r) {
  if (l.sizes != r.sizes) return fmt::format("{} on the left, {} on the right", l.sizes, r.sizes);
  for (std::size_t i = 0; i < l.elements.size(); ++i)
    if (l.elements[i] != r.elements[i])
      return fmt::format("at {}: {} on the left, {} on the right", coordinates(l.sizes, i), l.elements[i], r.elements[i]);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refute(const TypedEquation& e) {
  if (e.left().outputs.size() != e.right().outputs.size()) return "the sides have unequal numbers of outputs";
  if (const std::vector<std::size_t> unlike = e.unlike_outputs(); !unlike.empty())
    return fmt::format("output {} has unequal sizes or layouts on the two sides", unlike[0]);
  for (std::uint64_t seed = 1; seed <= draws(e); ++seed) {
    const SmallSizes sizes(e.variables(), seed);
    const std::vector<Value> l = values_of(e.left(), e.variables(), sizes, seed), r = values_of(e.right(), e.variables(), sizes, seed);
    for (std::size_t o = 0; o < e.left().outputs.size(); ++o)
      if (const auto d = difference(l[e.left().outputs[o]], r[e.right().outputs[o]]))
        return fmt::format("{}: output {} {}", sizes_text(e, sizes), o, *d);
  }
  return std::nullopt;
}

}  // namespace rules
