#pragma once
// `show planners`: planners with what their options mean, as text and as JSON.

#include <cstddef>
#include <string>

namespace reports {

// Each returns the planners of a kind ("megatron": its forms), or all for an empty one; text in lines of at most `width`, 80 or more.
// Throws: base::InputError for a kind that there is not.
[[nodiscard]] std::string planners_text(const std::string& kind, std::size_t width);
[[nodiscard]] std::string planners_json(const std::string& kind);

}  // namespace reports
