#include "base/utf8.hpp"

#include <cstdint>

namespace base {
namespace {

struct Lead {
  std::size_t length;    // bytes of the character, 0: no character starts so
  std::uint32_t bits;    // its part of the code point
  std::uint32_t lowest;  // a smaller code point has a shorter form and must use it
};

constexpr Lead lead_of(unsigned char c) {
  if (c < 0x80U) return {1, c, 0};
  if (c >= 0xC0U && c < 0xE0U) return {2, c & 0x1FU, 0x80U};
  if (c >= 0xE0U && c < 0xF0U) return {3, c & 0x0FU, 0x800U};
  if (c >= 0xF0U && c < 0xF8U) return {4, c & 0x07U, 0x10000U};
  return {0, 0, 0};
}

}  // namespace

std::size_t first_malformed_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
    if (lead.length == 0 || at + lead.length > text.size()) return at;
    std::uint32_t point = lead.bits;
    for (std::size_t i = 1; i < lead.length; ++i) {
      if (!continues_character(text[at + i])) return at;
      point = (point << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    const bool is_surrogate = point >= 0xD800U && point <= 0xDFFFU;
    if (point < lead.lowest || point > 0x10FFFFU || is_surrogate) return at;
    at += lead.length;
  }
  return text.size();
}

}  // namespace base
