#pragma once
// Small numbers for size symbols, at which terms are evaluated.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

// Small sizes for the size symbols (letters) of some variables, drawn from a seed: different symbols get different sizes from 2 on.
// Seeds 2 i and 2 i + 1 order them in opposite directions, so that nothing holds at both because one of two sizes is the smaller. A symbol
// alone gets five sizes at any five seeds in a row, 2 to 5 and 7, so that nothing holds because a tensor has two rows.
class SmallSizes {
 public:
  SmallSizes(std::span<const Variable> variables, std::uint64_t seed);
  // Returns the small number for typing sizes: sums and multiples of symbols get the sums and multiples of their small numbers, plain
  // numbers stay what they are. Throws: std::logic_error for what is neither.
  [[nodiscard]] std::int64_t of(const Numbers& typing_sizes) const;

 private:
  std::array<std::int64_t, 26> small_{};  // by letter; 0: not a symbol of the variables
  std::vector<std::pair<Numbers, std::int64_t>> known_;
};

}  // namespace rules
