#include "scenarios/answer/result.hpp"

namespace scenarios {

std::string_view to_text(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::out_of_memory: return "out_of_memory";
    case Status::infeasible: return "infeasible";
    case Status::time_limit: return "time_limit";
    case Status::lost: return "lost";
    case Status::crashed: return "crashed";
  }
  return "";
}

const Run* ScenarioResult::best_of_base() const {
  const Run* best = nullptr;
  for (const Run& r : runs)
    if (r.is_of_base() && r.status == Status::ok && (best == nullptr || r.simulation->iteration_time < best->simulation->iteration_time))
      best = &r;
  return best;
}

bool have_same_plan(const Run& a, const Run& b) { return a.made == b.made; }

}  // namespace scenarios
