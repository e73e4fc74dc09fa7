#include "base/yaml/plain.hpp"

namespace base {

bool can_be_plain(std::string_view text) {
  static constexpr std::string_view kNeverFirst = ",[]{}#&*!|>'\"%@`?:~ \t";
  if (text.empty() || kNeverFirst.find(text.front()) != std::string_view::npos || text.back() == ' ') return false;
  if (text == "null" || text == "Null" || text == "NULL" || text == "-" || text.starts_with("- ") || text.starts_with("---") ||
      text.starts_with("..."))
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || std::string_view(",[]{}?\"'").find(c) != std::string_view::npos) return false;
    if (c == ':' && std::string_view(" ,[]{}:").find(next) != std::string_view::npos) return false;
    if (c == '#' && text[i - 1] == ' ') return false;
  }
  // A byte order mark or another oddity outside ASCII at the front is safe only in quotes.
  return static_cast<unsigned char>(text.front()) < 0x80;
}

}  // namespace base
