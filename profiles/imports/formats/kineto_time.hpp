#pragma once
// Time stamps of traces. Private to this folder.

#include <cstdint>
#include <optional>
#include <string_view>

namespace imports::kineto {

// Returns the nanoseconds of a text in microseconds ("1712195495519689.125", "12", "1.5e3"), exact to the nanosecond where it is written
// without exponent: a double cannot hold the time of day to better than a quarter of a microsecond. Returns nullopt where the text is no
// number, or more than 95 years from 0.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace imports::kineto
