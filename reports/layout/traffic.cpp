#include "reports/layout/traffic.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/numbers.hpp"

namespace reports {

std::string traffic_text(base::Bytes b) {
  constexpr std::array kUnits = {std::pair(1e15, "PB"), std::pair(1e12, "TB"), std::pair(1e9, "GB"), std::pair(1e6, "MB"),
                                 std::pair(1e3, "kB")};
  for (const auto& [size, name] : kUnits)
    if (b.value() >= size) return fmt::format("{} {}", base::plain_number(b.value() / size, 4), name);
  return fmt::format("{} B", base::plain_number(b.value(), 4));
}

}  // namespace reports
