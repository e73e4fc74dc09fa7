#pragma once
// The little that text needs to know of UTF-8: where characters start, and whether bytes are UTF-8 at all.

#include <cstddef>
#include <string_view>

namespace base {

// True of the second and later bytes of a character.
[[nodiscard]] constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The offset of the first byte that is not part of a well-formed character (RFC 3629), or text.size().
[[nodiscard]] std::size_t first_malformed_utf8(std::string_view text);

}  // namespace base
