#pragma once
// What every planner returns.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/problem/termination.hpp"
#include "sim/results/simulation_result.hpp"

namespace search {

struct Slower {
  base::Seconds time, best;  // of an iteration: the candidate's and the winner's
};

// A candidate that lost, and why: for people.
struct LostCandidate {
  std::string candidate;  // "data 8 x tensor 4 x pipeline 2, 8 micro-batches of 1"
  std::variant<Slower, NeedsMemory> why;
};

struct SearchResult {
  Termination termination;
  std::optional<pcg::Plan> best;                    // set if and only if termination.has_plan()
  std::optional<pcg::Plan> closest;                 // without `best`: the candidate that lacks least memory, where one could be made
  std::optional<sim::SimulationResult> simulation;  // of `best` by the problem's oracle, where the planner has simulated it
  std::optional<base::Seconds> objective;           // what the planner minimised, of the best
  std::optional<base::Seconds> bound;               // proved lower bound of the objective, where there is one
  std::uint64_t candidates = 0;                     // plans that were built to be confirmed; those of a ranking do not count
  std::uint64_t counted = 0;                        // steps that the option `candidates` limits
  std::vector<LostCandidate> lost;                  // the most telling first, at most 10
  std::vector<std::string> notes;                   // what the planner has to say of its search, one sentence each
};

// Of a planner that follows a rule: the one plan that the rule gives, which counts as optimal because the rule has no other candidate, or
// why it gives none.
[[nodiscard]] SearchResult result_of_rule(Attempt<pcg::Plan> plan);

}  // namespace search
