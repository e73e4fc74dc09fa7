#pragma once
// Answers a scenario: every plan on every variant, and what the scenario's parameters are worth.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/processes/worker_pool.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/question/scenario.hpp"

namespace scenarios {

// Does work(0) .. work(count - 1), in any order, and calls finished(i) as each is done; returns the answers in order.
using Workers = std::function<std::vector<base::WorkerAnswer>(std::size_t count, const std::function<nlohmann::json(std::size_t)>& work,
                                                              const std::function<void(std::size_t)>& finished)>;

struct RunOptions {
  int jobs = 1;  // worker processes over the pieces of the answer; where these are fewer, over the planners of one
  std::uint64_t seed = 1;
  bool trace = false;                              // keep the spans of every base run
  std::function<void(std::string_view)> progress;  // may be empty
  std::function<bool()> interrupted;               // searches end at once, with their best plans so far; empty: never
  Workers workers;                                 // in place of worker processes; may be empty
  // Answers are kept here as they come, and what is here already is not asked again. Empty: none are.
  std::filesystem::path resume;
  std::string inputs;  // what answers depend on besides the scenario: the program, and the files that the scenario names; as text
};

// Returns the runs in order: variants (base first), then plans; for a what-if first the same plan, then re-planned. The order and every
// value but wall-clock times are the same for any `jobs` and `workers`, unless a search meets its time limit. After an interruption the
// base has its answers; what-ifs that were not begun have none, and `unanswered` counts them.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace scenarios
