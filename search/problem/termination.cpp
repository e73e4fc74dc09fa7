#include "search/problem/termination.hpp"

namespace search {

bool lacks_less(const NeedsMemory& a, const NeedsMemory& b) { return a.needed - a.available < b.needed - b.available; }

Termination Termination::optimal() { return Termination(Reason::optimal); }
Termination Termination::feasible(Limit limit) { return {Reason::feasible, limit}; }
Termination Termination::nothing_found(Limit limit) { return {Reason::nothing_found, limit}; }
Termination Termination::infeasible(BindingConstraint binding) {
  Termination t(Reason::infeasible);
  t.binding_ = std::move(binding);
  return t;
}

std::string_view stop_reason(const Termination& t) {
  if (t.is_infeasible()) return "infeasible";
  if (t.limit() == Limit::time) return "time_limit";
  return t.limit() == Limit::candidates ? "candidate_limit" : "complete";
}

}  // namespace search
