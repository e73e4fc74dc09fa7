#pragma once
// Published rules from JSON.

#include <filesystem>
#include <vector>

#include "search/rules/published/published_rule.hpp"

namespace rules {

// Returns the rules of a file. Throws: base::InputError with every problem found.
[[nodiscard]] std::vector<PublishedRule> read_published(const std::filesystem::path& file);

}  // namespace rules
