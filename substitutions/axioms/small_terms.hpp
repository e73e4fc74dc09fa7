#pragma once
// Terms with numbers for their symbols: sizes for letters, degrees for d and e.

#include <array>
#include <cstdint>
#include <vector>

#include "substitutions/axioms/shards.hpp"
#include "substitutions/language/rule.hpp"

namespace substitutions {

struct SmallNumbers {
  std::array<std::int64_t, 26> letter{};  // 0: not used
  int d = 1, e = 1;
};
// Returns the letters of the sizes that an equation speaks of, sorted.
[[nodiscard]] std::string letters_of(const Equation& e);
// Returns whether d and e occur in it.
[[nodiscard]] std::array<bool, 2> degrees_of(const Equation& e);

[[nodiscard]] std::vector<std::int64_t> small_sizes(const Variable& v, const SmallNumbers& n);
[[nodiscard]] SmallTerm small_term(const Term& t, const SmallNumbers& n);

}  // namespace substitutions
