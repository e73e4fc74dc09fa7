#pragma once
// The sizes that the letters of a rule stand for where it is matched.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "search/rules/language/symbols.hpp"

namespace rules {

// Sizes by letter; 0: not known.
using LetterSizes = std::array<std::int64_t, 26>;
[[nodiscard]] constexpr std::size_t index_of(char letter) { return static_cast<std::size_t>(letter - 'a'); }

struct SizeText {       // a sum of letters, or a number
  std::string letters;  // "cmm"; empty: a number
  std::int64_t number = 0;
};
[[nodiscard]] SizeText size_text(const Numbers& n);

// The outcome of a size that was held against its letters.
enum class Learnt {
  agrees,     // all letters are known now, and add up to it
  disagrees,  // no size of the letters makes it
  open,       // two letters or more are not known yet: another size may identify one of them
};
// Holds a size of the graph against a sum of letters, and sets the one letter that is not known.
[[nodiscard]] Learnt learn(LetterSizes& sizes, const SizeText& text, std::int64_t size);
// Returns the sum; nullopt where a letter is not known.
[[nodiscard]] std::optional<std::int64_t> size_of(const LetterSizes& sizes, const SizeText& text);

}  // namespace rules
