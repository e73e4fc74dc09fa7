#include "search/problem/planner.hpp"

#include <fmt/core.h>

namespace search {

std::string_view to_text(StopReason r) {
  switch (r) {
    case StopReason::complete: return "complete";
    case StopReason::time_limit: return "time_limit";
    case StopReason::infeasible: return "infeasible";
  }
  return "";
}

std::string memory_text(base::Bytes b) { return fmt::format("{:.1f} GiB", b.value() / (1 << 30)); }

}  // namespace search
