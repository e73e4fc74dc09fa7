#pragma once
// How a search ended. The makers keep what belongs together: a limit where one was met, a binding constraint where nothing is feasible.
// Modelled on MathOpt's Termination (OR-tools, math_opt/cpp/solve_result.h).

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/units.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// `candidates`: as many as the option of that name allows. `options`: all that the planner's other options leave in; there may be better
// plans that no candidate stands for.
enum class Limit { time, candidates, options };

struct NeedsMemory {
  base::Bytes needed, available;  // of the device that lacks most
};
[[nodiscard]] bool lacks_less(const NeedsMemory& a, const NeedsMemory& b);

// The candidate that came nearest to fitting into memory.
struct ClosestMiss {
  std::string candidate;
  NeedsMemory memory;
};

// Why nothing is feasible: no candidate can be built (the last refusal), or none fits into memory.
using BindingConstraint = std::variant<Refusal, ClosestMiss>;

class Termination {
 public:
  // The planner knows that none of its candidates has a better objective than the plan that it gives.
  [[nodiscard]] static Termination optimal();
  // A plan, the best of the candidates that were looked at before a limit ended the search.
  [[nodiscard]] static Termination feasible(Limit limit);
  // No plan: a limit ended the search before anything feasible was found. Nothing is known of the candidates that were not looked at.
  [[nodiscard]] static Termination nothing_found(Limit limit);
  // No plan, and all candidates were looked at.
  [[nodiscard]] static Termination infeasible(BindingConstraint binding);

  [[nodiscard]] bool has_plan() const { return reason_ == Reason::optimal || reason_ == Reason::feasible; }
  [[nodiscard]] bool is_optimal() const { return reason_ == Reason::optimal; }
  [[nodiscard]] bool is_infeasible() const { return reason_ == Reason::infeasible; }
  // The limit that ended the search, if one did.
  [[nodiscard]] std::optional<Limit> limit() const { return limit_; }
  // nullptr unless infeasible.
  [[nodiscard]] const BindingConstraint* binding() const { return binding_ ? &*binding_ : nullptr; }

 private:
  enum class Reason { optimal, feasible, nothing_found, infeasible };
  explicit Termination(Reason reason) : reason_(reason) {}
  Termination(Reason reason, Limit limit) : reason_(reason), limit_(limit) {}

  Reason reason_;
  std::optional<Limit> limit_;                // of feasible and nothing_found
  std::optional<BindingConstraint> binding_;  // of infeasible
};

// `stop_reason` of the JSON result: time_limit and candidate_limit where that ended the search, infeasible, else complete.
[[nodiscard]] std::string_view stop_reason(const Termination& t);

}  // namespace search
