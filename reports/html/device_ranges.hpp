#pragma once
// Numbers of devices in JSON. Private to this folder.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace reports {

// Returns [[0, 3], [8, 8]] for 0, 1, 2, 3, 8: neighbours as a range, first and last.
[[nodiscard]] inline nlohmann::ordered_json device_ranges(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  nlohmann::ordered_json ranges = nlohmann::ordered_json::array();
  for (const std::uint32_t n : numbers) {
    if (!ranges.empty() && n <= ranges.back()[1].get<std::uint32_t>() + 1) ranges.back()[1] = n;
    else ranges.push_back({n, n});
  }
  return ranges;
}

}  // namespace reports
