#pragma once
// How deep the brackets of a YAML or JSON text are nested, told before the text is parsed: yaml-cpp keeps every token of a line that may
// still turn out to be a key, so a line of ten million brackets takes gigabytes before its depth is noticed.

#include <cstddef>
#include <optional>
#include <string_view>

namespace base {

// Far more than any of our formats needs; yaml-cpp itself gives up at 500.
inline constexpr std::size_t kDeepestNesting = 100;

// Returns the offset of the first bracket that opens a list or a map inside more than kDeepestNesting others; nullopt: none does. Brackets
// in quotes, comments, block scalars and words do not count. A text that is no YAML gives any answer. Cost: O(text).
[[nodiscard]] std::optional<std::size_t> too_deep(std::string_view text);

}  // namespace base
