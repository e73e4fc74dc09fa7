#include "base/diagnostics.hpp"

#include <utf8.h>

namespace base {

std::size_t first_malformed_utf8(std::string_view text) {
  return static_cast<std::size_t>(utf8::find_invalid(text.begin(), text.end()) - text.begin());
}

}  // namespace base
