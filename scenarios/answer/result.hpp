#pragma once
// The answer: what reports write. Format 1 of the JSON result (docs/formats.md) is made from this value.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "scenarios/answer/stored_plan.hpp"
#include "scenarios/capacity/result.hpp"
#include "scenarios/question/scenario.hpp"
#include "search/problem/search_result.hpp"
#include "sim/simulation.hpp"

namespace scenarios {

// lost, crashed: the worker process that was to answer was ended from outside, or by a fault of the program, twice.
enum class Status { ok, out_of_memory, infeasible, time_limit, lost, crashed };
[[nodiscard]] std::string_view to_text(Status s);

// How a planner came to its plan, or to none.
struct Planning {
  bool searched = false;  // it chose the best of many plans; false: the plan follows from a rule or from a file
  search::Termination termination = search::Termination::optimal();
  std::optional<base::Seconds> objective, bound;
  std::uint64_t counted = 0;                // what the option `candidates` limits
  std::vector<search::LostCandidate> lost;  // the most telling first
  std::vector<std::string> notes;           // the planner's own sentences about its search
};

struct Run {
  std::string plan;                                           // the entry's name
  std::string variant;                                        // kBaseName or a what-if's name
  std::string sweep;                                          // of a point of a sweep: the sweep's name
  std::vector<std::pair<std::string, std::string>> settings;  // what the variant changes: "cluster.nodes" -> "2x"
  std::string framework;                                      // under which the plan is timed
  bool has_own_framework = false;                             // the entry names it; else it is the scenario's
  bool replanned = true;                                      // made for this variant; false: the base's plan on the changed cluster
  Status status = Status::ok;
  std::optional<int> base_gpus;                     // of the base's plan, where that cannot be run on this variant as it is
  std::optional<Planning> planning;                 // unless the plan is the base's
  StoredPlan made;                                  // the plan, or what came closest to one; none: nothing could be made
  std::optional<sim::SimulationResult> simulation;  // where a plan was made
  base::Seconds interval_low, interval_high;        // of the iteration time, 90 %
  double samples_per_s = 0, tokens_per_s = 0;       // tokens: 0 when the model has no sequence
  // Model FLOPs (forward x 3, no recomputation) / (time x dense peak of the precision x GPUs): with whole attention squares, and without
  // what causal masks throw away of them (pcg/work/model_flops.hpp).
  double mfu = 0, mfu_causal = 0;
  int gpus = 0;
  // Wall clock. The simulation's is 0 where the search has simulated its plan already.
  base::Seconds search_time, simulation_time;
  std::string plan_summary;
  std::vector<base::Note> notes;  // about this answer, and what the forecast rests on

  [[nodiscard]] bool is_of_base() const { return variant == kBaseName; }
};

// Both have a plan, and it is the same, or neither has one.
[[nodiscard]] bool have_same_plan(const Run& a, const Run& b);

// What a parameter of the cluster is worth to a plan of the base (scenarios/answer/sensitivity.hpp).
struct Sensitivity {
  std::string plan;
  std::string parameter;  // "cluster.links.infiniband.bandwidth"
  double elasticity = 0;  // of the iteration time, with the same plan
  // With a parameter that is twice as good (a latency: half of it): the iteration time with the same plan; of a memory, which changes what
  // fits, with a new one. nullopt: nothing fits, or nobody has answered.
  double change = 2;  // the parameter's factor
  bool replanned = false;
  std::optional<base::Seconds> improved;
  base::Seconds time;  // of the base
};

struct ScenarioResult {
  std::string scenario;
  std::vector<Run> runs;
  std::vector<Sensitivity> sensitivity;    // plan by plan, the largest first
  std::optional<CapacityResult> capacity;  // where the scenario asks
  std::vector<Run> capacity_runs;          // that it rests on: CapacityCase::run counts them
  std::size_t unanswered = 0;              // what-ifs, probes and machines that an interruption has kept from being begun

  // Returns the quickest run of the base that fits; null: none does.
  [[nodiscard]] const Run* best_of_base() const;
};

}  // namespace scenarios
