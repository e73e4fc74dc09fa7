#pragma once
// Ranges in the names of a node's parts: "gpu[0-3]" is gpu0, gpu1, gpu2 and gpu3. Private to this folder.

#include <optional>
#include <string>
#include <vector>

namespace topology {

// Returns the names that a text stands for, in order; the text alone where it has no "[". nullopt: brackets without a range, a range that
// falls, or one of more than 1,024 names.
[[nodiscard]] std::optional<std::vector<std::string>> names_in_range(const std::string& text);

}  // namespace topology
