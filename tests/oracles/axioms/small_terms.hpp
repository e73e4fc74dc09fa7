#pragma once
// Terms with numbers for their symbols: sizes for letters, degrees for d and e.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

struct SmallNode {
  Kind kind = Kind::variable;
  Function function = Function::none;
  int axis = 0;
  int degree = 1;                    // of layout operators
  std::int64_t at = 0;               // of splits
  std::vector<std::int64_t> like;    // of constants: their sizes
  std::vector<std::uint8_t> inputs;  // earlier nodes
  int variable = 0;
};
struct SmallTerm {
  std::vector<SmallNode> nodes;
  std::vector<std::uint8_t> outputs;
};

struct SmallNumbers {
  LetterSizes letters{};  // 0: not used
  int d = 1, e = 1;
};
// Returns: the letters of the sizes that an equation speaks of, sorted.
[[nodiscard]] std::string letters_of(const Equation& e);
// Returns: whether d and e occur in it.
[[nodiscard]] std::array<bool, 2> degrees_of(const Equation& e);

[[nodiscard]] std::vector<std::int64_t> small_sizes(const Variable& v, const SmallNumbers& n);
[[nodiscard]] SmallTerm small_term(const Term& t, const SmallNumbers& n);

}  // namespace rules
