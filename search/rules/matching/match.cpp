#include "search/rules/matching/match.hpp"

namespace rules {

// What is no sum of letters does not occur in rules that were read; "?" stands for a size that nothing has.
SizeText size_text(const Numbers& n) { return {letters_of(n).value_or("?"), n[0]}; }

Learnt learn(LetterSizes& sizes, const SizeText& text, std::int64_t size) {
  if (text.letters.empty()) return text.number == size ? Learnt::agrees : Learnt::disagrees;
  std::int64_t known = 0;
  int unknown = 0, times = 0;
  char letter = 0;
  for (char c : text.letters) {  // sorted: equal letters are neighbours
    if (c == '?') return Learnt::disagrees;
    const std::int64_t s = sizes[index_of(c)];
    known += s;
    if (s != 0) continue;
    if (c != letter) ++unknown;
    letter = c;
    ++times;
  }
  if (unknown > 1) return Learnt::open;
  if (unknown == 0) return known == size ? Learnt::agrees : Learnt::disagrees;
  if (size <= known || (size - known) % times != 0) return Learnt::disagrees;
  sizes[index_of(letter)] = (size - known) / times;
  return Learnt::agrees;
}

}  // namespace rules
