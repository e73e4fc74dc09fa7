#pragma once
// Numbers in JSON. Private to this folder and its subfolders.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/numbers.hpp"
#include "base/units.hpp"

namespace reports {

// Bytes, FLOPs and numbers of things are written as integers where they are whole and a double holds them exactly.
[[nodiscard]] inline nlohmann::ordered_json count(double value) {
  if (value >= 0 && value <= base::kLargestExactInteger && value == static_cast<double>(static_cast<std::int64_t>(value)))
    return static_cast<std::int64_t>(value);
  return value;
}
// A share of bytes among devices may not divide: what is written is the nearest whole byte.
[[nodiscard]] inline nlohmann::ordered_json count(base::Bytes b) { return count(std::round(b.value())); }

// Returns [0, 1, 2, 3, 8].
[[nodiscard]] inline nlohmann::ordered_json ids(const std::vector<base::DeviceId>& devices) {
  nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
  for (const base::DeviceId d : devices) numbers.push_back(d.value);
  return numbers;
}

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
