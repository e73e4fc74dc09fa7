#pragma once
// The symbols for sizes and degrees in rules. A symbol is typed at kAssignments unrelated assignments of numbers at once: a
// condition that holds at all of them holds because of the symbols, not by coincidence.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace rules {

// Two numbers may be in a relation by coincidence; three unrelated pairs have not been seen in one.
inline constexpr int kAssignments = 3;
using Numbers = std::array<std::int64_t, kAssignments>;  // one number in each assignment
[[nodiscard]] Numbers plus(Numbers a, const Numbers& b);
[[nodiscard]] Numbers minus(Numbers a, const Numbers& b);

// --- sizes --------------------------------------------------------------------------------------------------------------

// Returns: the typing sizes that a letter stands for: multiples of 30^4, so that dims can be cut by any few degrees, and unlike those of
// any other letter.
[[nodiscard]] Numbers symbol(char letter);
// Returns: whether this is a plain number, equal in all assignments.
[[nodiscard]] bool is_plain(const Numbers& sizes);
// Returns: the letters that typing sizes are the sum of, in order ("cmm"); no letters for plain numbers, which are equal in all
// assignments; nullopt for what is no sum of one to five letters.
[[nodiscard]] std::optional<std::string> letters_of(const Numbers& sizes);

// Other sizes that the letters may have, those of a graph or small ones to evaluate at; 0: not known.
using LetterSizes = std::array<std::int64_t, 26>;
[[nodiscard]] constexpr std::size_t index_of(char letter) { return static_cast<std::size_t>(letter - 'a'); }
// Returns: the size there that typing sizes stand for, which for plain numbers are they themselves; nullopt where a letter is not known,
// and for what is no sum of letters.
[[nodiscard]] std::optional<std::int64_t> size_of(const LetterSizes& sizes, const Numbers& typing_sizes);

// --- degrees ------------------------------------------------------------------------------------------------------------

// The product d^powers[0] e^powers[1] 2^powers[2] of the degree symbols and the number 2 (of two summands).
struct Degree {
  std::array<std::uint8_t, 3> powers = {0, 0, 0};
  auto operator<=>(const Degree&) const = default;
};
[[nodiscard]] Numbers values(Degree d);  // d: 2, 3, 5; e: 3, 5, 2
// Returns: the degree of these values; nullopt: no product of the symbols has them.
[[nodiscard]] std::optional<Degree> degree_from(const Numbers& values);

}  // namespace rules
