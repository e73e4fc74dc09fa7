#pragma once
// What every planner takes and returns.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"

namespace search {

// The question. `model` holds any batch; planners call pcg::with_batch. Referenced objects outlive the call.
struct Problem {
  const pcg::Graph& model;
  const base::Yaml& model_section;  // goes into the plan, so that it can be checked alone
  const topology::Cluster& cluster;
  pcg::TrainingConfig training;
  const sim::Oracle& oracle;
};

struct SearchConfig {
  base::Seconds budget{60};
  std::uint64_t seed = 1;
  std::function<base::Seconds()> clock;            // since some start; asked between candidates
  std::function<void(std::string_view)> progress;  // may be empty
};

enum class StopReason { complete, time_limit, infeasible };
[[nodiscard]] std::string_view to_text(StopReason r);

// A candidate that lost, and why: for people.
struct Refusal {
  std::string candidate;  // "data 8 x tensor 4 x pipeline 2, micro-batch 1"
  std::string reason;     // "needs 91.2 GiB of 80 GiB", "0.412 s against 0.371 s"
};

struct SearchResult {
  std::optional<pcg::Plan> best;           // set unless infeasible
  std::optional<base::Seconds> objective;  // what the planner minimised, of the best
  std::optional<base::Seconds> bound;      // proved lower bound of it, where there is one
  StopReason stop_reason = StopReason::complete;
  std::uint64_t candidates = 0;
  std::vector<Refusal> refusals;  // the most telling first, at most 10
  std::vector<std::string> notes;
};

// Memory as GPUs are sold: "15.2 GiB".
[[nodiscard]] std::string memory_text(base::Bytes b);

// A plan that cannot be made: one sentence that names the numbers ("24 layers do not split into 5 equal stages").
struct PlanError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace search
