#pragma once
// One unit for the times of a table, so that they can be compared at a glance. Private to reports.

#include <string>
#include <vector>

#include "base/units.hpp"

namespace reports {

struct TimeUnit {
  const char* name = "s";
  double seconds = 1;
  int decimals = 0;

  [[nodiscard]] std::string text(base::Seconds t) const;  // a number in this unit
};

// Returns the unit of the shortest of these times, so that none is below 1, with as many decimals as give that one four digits. Times of 0
// do not count; without times, microseconds.
[[nodiscard]] TimeUnit unit_of(const std::vector<base::Seconds>& times);

}  // namespace reports
