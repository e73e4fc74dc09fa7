#include "search/planner.hpp"

namespace search {

std::string_view to_text(StopReason r) {
  switch (r) {
    case StopReason::complete: return "complete";
    case StopReason::time_limit: return "time_limit";
    case StopReason::infeasible: return "infeasible";
  }
  return "";
}

}  // namespace search
