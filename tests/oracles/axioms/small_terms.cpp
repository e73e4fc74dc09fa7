#include "tests/oracles/axioms/small_terms.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/check.hpp"

namespace rules {
namespace {

std::string letters(const Numbers& n) {
  const std::optional<std::string> l = letters_of(n);
  BASE_CHECK(l.has_value(), "size {} is no sum of letters", n[0]);
  return *l;
}

std::int64_t small(const Numbers& n, const SmallNumbers& numbers) {
  const std::optional<std::int64_t> size = size_of(numbers.letters, n);
  BASE_CHECK(size.has_value(), "size {} is no sum of the variables' letters", n[0]);
  return *size;
}

}  // namespace

std::string letters_of(const Equation& e) {
  std::set<char> all;
  for (const Variable& v : e.variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d) std::ranges::copy(letters(dim_size(v.types, d)), std::inserter(all, all.end()));
  return {all.begin(), all.end()};
}

std::array<bool, 2> degrees_of(const Equation& e) {
  std::array<bool, 2> used{};
  for (const Term* t : {&e.left, &e.right})
    for (const Node& n : t->nodes)
      for (std::size_t s = 0; s < 2; ++s) used[s] = used[s] || n.degree.powers[s] > 0;
  return used;
}

std::vector<std::int64_t> small_sizes(const Variable& v, const SmallNumbers& n) {
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < v.types[0].rank; ++d) sizes.push_back(small(dim_size(v.types, d), n));
  return sizes;
}

SmallTerm small_term(const Term& t, const SmallNumbers& numbers) {
  SmallTerm result;
  result.outputs = t.outputs;
  for (const Node& n : t.nodes) {
    SmallNode s{.kind = n.kind, .function = n.function, .axis = n.axis, .inputs = n.inputs, .variable = n.variable};
    for (int i = 0; i < n.degree.powers[0]; ++i) s.degree *= numbers.d;
    for (int i = 0; i < n.degree.powers[1]; ++i) s.degree *= numbers.e;
    for (int i = 0; i < n.degree.powers[2]; ++i) s.degree *= 2;
    if (is_split(n.kind)) s.at = small(n.at, numbers);
    if (is_constant(n.kind)) s.like.assign(2, small(n.at, numbers));
    if (n.kind == Kind::ones) s.like[1] = small(n.by, numbers);
    if (n.kind == Kind::identity_kernel || n.kind == Kind::pool_kernel) s.like.resize(4, 3);
    result.nodes.push_back(std::move(s));
  }
  return result;
}

}  // namespace rules
