#include "reports/layout/time_unit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <utility>

#include "base/numbers.hpp"

namespace reports {

std::string TimeUnit::text(base::Seconds t) const { return fmt::format("{:.{}f}", t.value() / seconds, decimals); }

TimeUnit unit_of(const std::vector<base::Seconds>& times) {
  constexpr std::array<TimeUnit, 3> kUnits = {TimeUnit{"s", 1}, TimeUnit{"ms", 1e-3}, TimeUnit{"us", 1e-6}};
  double least = std::numeric_limits<double>::infinity();
  for (const base::Seconds t : times)
    if (t.value() > 0) least = std::min(least, t.value());
  TimeUnit unit = kUnits.back();
  for (const TimeUnit& u : kUnits | std::views::reverse)
    if (least >= u.seconds) unit = u;
  for (double room = 1000; room > 1 && least / unit.seconds < room; room /= 10) ++unit.decimals;
  return unit;
}

std::string traffic_text(base::Bytes b) {
  constexpr std::array kUnits = {std::pair(1e15, "PB"), std::pair(1e12, "TB"), std::pair(1e9, "GB"), std::pair(1e6, "MB"),
                                 std::pair(1e3, "kB")};
  for (const auto& [size, name] : kUnits)
    if (b.value() >= size) return fmt::format("{} {}", base::plain_number(b.value() / size, 4), name);
  return fmt::format("{} B", base::plain_number(b.value(), 4));
}

}  // namespace reports
