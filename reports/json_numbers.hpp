#pragma once
// Numbers in JSON. Private to this folder and its subfolders.

#include <cmath>
#include <nlohmann/json.hpp>

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

}  // namespace reports
