#pragma once
// profiles/networks/*.yaml as they were when the program was built. Private to this folder.

#include <span>
#include <string_view>
#include <utility>

namespace profiles {

// (name, text) sorted by name. Generated: cmake/embed.cmake.
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> network_files();

}  // namespace profiles
