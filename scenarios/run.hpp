#pragma once
// Answers a scenario: every plan on every variant.

#include <functional>
#include <string_view>

#include "scenarios/question/scenario.hpp"
#include "scenarios/result.hpp"

namespace scenarios {

struct RunOptions {
  int jobs = 1;  // worker processes over (plan, variant) pairs; where these are fewer, over the planners of one
  std::uint64_t seed = 1;
  bool trace = false;                              // keep the spans of every base run
  std::function<void(std::string_view)> progress;  // may be empty
  std::function<bool()> interrupted;               // searches end at once, with their best plans so far; empty: never
};

// Returns the runs in order: variants (base first), then plans; for a what-if first the same plan, then re-planned. The order and every
// value but wall-clock times are the same for any `jobs`, unless a search meets its time limit.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace scenarios
