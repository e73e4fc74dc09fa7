#pragma once
// The answer: what reports write. Format 1 of the JSON result (docs/formats.md) is this value, field for field.

#include <optional>
#include <string>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/simulation.hpp"

namespace scenarios {

enum class Status { ok, out_of_memory, infeasible, time_limit };
[[nodiscard]] std::string_view to_text(Status s);

struct Run {
  std::string plan;       // the entry's name
  std::string variant;    // "base" or a what-if's name
  bool replanned = true;  // made for this variant; false: the base's plan on the changed cluster
  Status status = Status::ok;
  std::optional<pcg::Plan> made;                    // unless infeasible
  std::optional<sim::SimulationResult> simulation;  // unless infeasible
  base::Seconds interval_low, interval_high;        // of the iteration time, 90 %
  double samples_per_s = 0, tokens_per_s = 0;       // tokens: 0 when the model has no sequence
  double mfu = 0;  // model FLOPs (forward x 3, no recomputation) / (time x dense peak of the precision x GPUs)
  int gpus = 0;
  base::Seconds search_time, simulation_time;  // wall clock
  std::optional<base::Seconds> objective, bound;
  std::string stop_reason;  // of a planner, else empty
  std::string plan_summary;
  std::vector<std::string> notes;
};

struct ScenarioResult {
  std::string scenario;
  std::vector<Run> runs;
};

}  // namespace scenarios
