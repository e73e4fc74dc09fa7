#pragma once
// `show planners`: planners with what their options mean, as text and as JSON.

#include <string>

namespace reports {

// Each returns the planners of a kind ("megatron": its forms), or all for an empty one.
// Throws: base::InputError for a kind that there is not.
[[nodiscard]] std::string planners_text(const std::string& kind);
[[nodiscard]] std::string planners_json(const std::string& kind);

}  // namespace reports
