#pragma once
// Answers a scenario: every plan on every variant, and what the scenario's parameters are worth. Start here: run_scenario() makes a
// ScenarioResult (result.hpp: runs, each with its plan, simulation and notes; sensitivities; capacity) of a Scenario
// (scenarios/question/scenario.hpp). answer.hpp answers one plan entry on one variant; work_list.hpp shares the tasks out to worker
// processes and keeps their answers; run_notes() words the facts of a run; check.hpp checks a file.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/processes/worker_pool.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/question/scenario.hpp"
#include "scenarios/question/what_if.hpp"

namespace scenarios {

// Does work(0) .. work(count - 1), in any order, and calls finished(i) as each is done; returns the answers in order.
using Workers = std::function<std::vector<base::WorkerAnswer>(std::size_t count, const std::function<nlohmann::json(std::size_t)>& work,
                                                              const std::function<void(std::size_t)>& finished)>;

struct RunOptions {
  int jobs = 1;  // worker processes over the tasks of the answer; where these are fewer, over the planners of one
  std::uint64_t seed = 1;
  Program program;                                 // which answers
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

// The elasticity of T to x is d ln T / d ln x: -0.3 for a bandwidth says that 1 % more of it takes 0.3 % off the time. An iteration that
// waits for rates and latencies alone takes 1/s of its time on a cluster that is s times as fast in everything, so by Euler's theorem on
// homogeneous functions the elasticities of all rates, less those of all latencies, add up to -1. They stay above that by the share of the
// time that no key of the cluster gives, such as the shortest time of a kernel or the overheads of a communication library.
// Returns ln(up / down) / (2 ln kProbeStep): by central differences in the logarithm. Requires: times above 0.
[[nodiscard]] double elasticity(base::Seconds down, base::Seconds up);

// Puts the largest first, in the order in which they are among equals.
void rank(std::vector<Sensitivity>& all);

}  // namespace scenarios
