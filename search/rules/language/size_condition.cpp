#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

// Nullopt where one size need not divide by the other, whatever the symbols are: 6k / 2k = 3, 6k / 3 = 2k.
std::optional<Numbers> quotient(const Numbers& whole, const Numbers& part) {
  if (part == Numbers{1, 1, 1}) return whole;
  Numbers q;
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (whole[a] % part[a] != 0) return std::nullopt;
    q[a] = whole[a] / part[a];
  }
  return letters_of(q) ? std::optional(q) : std::nullopt;
}

constexpr SizeCondition kOutside{"cuts outside its tensor", "write the size that is cut as a sum of both parts, e.g. [m+n, k] cut after m"};
constexpr SizeCondition kChannels{"reads channels that are no multiple of its kernel's",
                                  "use one letter: [n, c, h, w] with [o, c, 3, 3], in two groups [n, 2c, h, w] with [2o, c, 3, 3]"};
constexpr SizeCondition kGroups{"has a kernel whose outputs are no multiple of its groups",
                                "a kernel of two groups is e.g. [2o, c, 3, 3], one of a channel each [c, 1, 3, 3]"};
constexpr SizeCondition kHeads{"reads a last dim that is no multiple of 3", "queries, keys and values lie side by side: e.g. [b, s, 3h]"};

std::optional<SizeCondition> of_split(const Node& n, const Types& x) {
  return letters_of(n.at) && letters_of(minus(dim_size(x, n.axis), n.at)) ? std::nullopt : std::optional(kOutside);
}

std::optional<SizeCondition> of_convolution(const Types& x, const Types& w) {
  const auto groups = quotient(dim_size(x, 1), dim_size(w, 1));
  if (!groups) return kChannels;
  return quotient(dim_size(w, 0), *groups) ? std::nullopt : std::optional(kGroups);
}

}  // namespace

std::optional<SizeCondition> size_condition(const Node& n, std::span<const Types> types) {
  if (is_split(n.kind)) return of_split(n, types[n.inputs[0]]);
  if (is_convolution(n.kind)) return of_convolution(types[n.inputs[0]], types[n.inputs[1]]);
  if (n.kind == Kind::attention && !quotient(dim_size(types[n.inputs[0]], 2), {3, 3, 3})) return kHeads;
  return std::nullopt;
}

}  // namespace rules
