#pragma once
// How likely a forecast with an interval keeps a limit.

#include <string_view>

namespace scenarios {

// surely: the whole interval of 90 % keeps the limit; probably: the middle does; unlikely: the lower end alone; no: not even that.
enum class Chance { surely, probably, unlikely, no };
[[nodiscard]] std::string_view to_text(Chance c);
// Whether the middle keeps the limit.
[[nodiscard]] constexpr bool meets(Chance c) { return c == Chance::surely || c == Chance::probably; }

// Requires: low <= middle <= high.
template <class Amount>
[[nodiscard]] Chance chance(Amount low, Amount middle, Amount high, Amount limit) {
  if (high <= limit) return Chance::surely;
  if (middle <= limit) return Chance::probably;
  return low <= limit ? Chance::unlikely : Chance::no;
}

}  // namespace scenarios
