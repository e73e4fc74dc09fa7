#pragma once
// UTF-8, as far as text needs it: where characters start, and whether bytes are UTF-8 at all.

#include <cstddef>
#include <string_view>

namespace base {

// Returns whether `c` is the second or a later byte of a character. The text need not be well-formed, so that messages may
// quote damaged input.
[[nodiscard]] constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Returns the offset of the first byte that is not part of a well-formed character (RFC 3629), or text.size().
[[nodiscard]] std::size_t first_malformed_utf8(std::string_view text);

}  // namespace base
