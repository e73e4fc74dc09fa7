#pragma once
// One unit for the times of a table, so that they can be compared at a glance; and bytes as text. Private to reports.

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

// Returns bytes that are sent, e.g. "93.7 GB": in powers of 1000, as bandwidths are, so that bytes over bandwidth can be done in the head.
// Memory is in GiB, as drivers show it (search/problem/wording.hpp).
[[nodiscard]] std::string traffic_text(base::Bytes b);

}  // namespace reports
