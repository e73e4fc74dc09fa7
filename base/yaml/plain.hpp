#pragma once
// Which scalars may be written without quotes. Private to base/yaml.

#include <string_view>

namespace base {

// True if `text`, written bare inside any block or flow collection, reads back as a scalar with that very text.
// Conservative: some texts that YAML allows bare are refused.
[[nodiscard]] bool can_be_plain(std::string_view text);

}  // namespace base
