#pragma once
// Numbers without a unit, read from text and written for people. Numbers with a dimension: base/units.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

// Up to 2^53, a double holds every whole number.
inline constexpr double kLargestExactInteger = 9007199254740992.0;

// Each returns the number when it is all of the text, else nullopt: "1.5 ", "0x10" and "" are no numbers. Neither is inf or nan.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

// Returns: the number with at least `significant` digits, as people write it: no exponent, no zeros after the last digit that counts.
// 0.00012345 -> "0.0001235", 425.0 -> "425", 115812.3 -> "115812".
// Requires: value is finite, significant >= 1.
[[nodiscard]] std::string plain_number(double value, int significant);

// Returns "1 plan", "2 plans": any noun whose plural takes an s.
[[nodiscard]] std::string counted(std::int64_t number, std::string_view noun);

}  // namespace base
