#pragma once
// profiles/accuracy/*.yaml as they were when the program was built. Private to this folder.

#include <span>
#include <string_view>
#include <utility>

namespace scenarios {

// (name, text) sorted by name. Generated: cmake/embed.cmake.
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> accuracy_files();

}  // namespace scenarios
