#pragma once
// How a search ended. The makers keep what belongs together: a limit where one was met, a binding constraint where nothing is feasible.
// Modelled on MathOpt's Termination (OR-tools, math_opt/cpp/solve_result.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/fact.hpp"
#include "base/units.hpp"
#include "pcg/plan/plan.hpp"
#include "search/problem/refusal.hpp"
#include "sim/results/simulation_result.hpp"

namespace search {

// `effort`: the budget is spent, counted in what the search did. `time`: the wall clock's safety net. `candidates`: as many as the option
// of that name allows. `options`: all that the planner's other options leave in; there may be better plans that are no candidate.
enum class Limit { time, effort, candidates, options };

struct NeedsMemory {
  base::Bytes needed, available;  // of the device that lacks most
};

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
  [[nodiscard]] static Termination optimal() { return {true, {}, {}}; }
  // A plan, the best of the candidates that were evaluated before a limit ended the search.
  [[nodiscard]] static Termination feasible(Limit limit) { return {true, limit, {}}; }
  // No plan: a limit ended the search before anything feasible was found. Nothing is known of the candidates that were not evaluated.
  [[nodiscard]] static Termination nothing_found(Limit limit) { return {false, limit, {}}; }
  // No plan, and all candidates were evaluated.
  [[nodiscard]] static Termination infeasible(BindingConstraint binding) { return {false, {}, std::move(binding)}; }

  [[nodiscard]] bool has_plan() const { return has_plan_; }
  [[nodiscard]] bool is_optimal() const { return has_plan_ && !limit_; }
  [[nodiscard]] bool is_infeasible() const { return binding_.has_value(); }
  // The limit that ended the search, if one did.
  [[nodiscard]] std::optional<Limit> limit() const { return limit_; }
  // nullptr unless infeasible.
  [[nodiscard]] const BindingConstraint* binding() const { return binding_ ? &*binding_ : nullptr; }

 private:
  Termination(bool has_plan, std::optional<Limit> limit, std::optional<BindingConstraint> binding)
      : has_plan_(has_plan), limit_(limit), binding_(std::move(binding)) {}

  bool has_plan_;
  std::optional<Limit> limit_;                // of feasible and nothing_found
  std::optional<BindingConstraint> binding_;  // of infeasible
};

// `stop_reason` of the JSON result: time_limit and candidate_limit where that ended the search, infeasible, else complete.
[[nodiscard]] std::string_view stop_reason(const Termination& t);

struct Slower {
  base::Seconds time, best;  // of an iteration: the candidate's and the winner's
};

inline constexpr std::size_t kMostLost = 10;  // more than a person reads

// A candidate that lost, and why: for people.
struct LostCandidate {
  std::string candidate;  // "data 8 x tensor 4 x pipeline 2, 8 micro-batches of 1"
  std::variant<Slower, NeedsMemory> why;
};

// The answer of every planner.
struct SearchResult {
  Termination termination;
  std::optional<pcg::Plan> best;                    // set if and only if termination.has_plan()
  std::optional<pcg::Plan> closest;                 // without `best`: the candidate that lacks least memory, where one could be made
  std::string found_by;                             // the part of the planner that made `best`: "grid"; empty: it has but one
  std::optional<sim::SimulationResult> simulation;  // of `best` by the problem's oracle, where the planner has simulated it
  std::optional<base::Seconds> objective;           // what the planner minimised, of the best
  std::optional<base::Seconds> bound;               // proved lower bound of the objective, where there is one
  std::uint64_t candidates = 0;                     // plans that were built to be confirmed; those of a ranking do not count
  std::uint64_t counted = 0;                        // steps that the option `candidates` limits
  std::vector<LostCandidate> lost;                  // the most telling first, kMostLost at most
  std::vector<base::Fact> notes;                    // what the planner has to say of its search
};

// The answer of a planner that follows a rule: the one plan that the rule gives, which counts as optimal because the rule has no other
// candidate, or why it gives none.
[[nodiscard]] SearchResult result_of_rule(Attempt<pcg::Plan> plan);

// Memory as GPUs are sold: "15.2 GiB".
[[nodiscard]] std::string memory_text(base::Bytes b);
// "needs 91.2 GiB of 80.0 GiB", "0.412 s against 0.371 s".
[[nodiscard]] std::string to_text(const std::variant<Slower, NeedsMemory>& why);
// Why there is no plan.
// Requires: !t.has_plan().
[[nodiscard]] std::string to_text(const Termination& t);

}  // namespace search
