#pragma once
// The answer: what reports write. Format 1 of the JSON result (docs/formats/results.md) is made from this value.

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/capacity/result.hpp"
#include "scenarios/intervals/pairs.hpp"
#include "scenarios/question/scenario.hpp"
#include "scenarios/question/subject.hpp"
#include "search/problem/search_result.hpp"
#include "sim/simulation.hpp"

namespace scenarios {

// The plan of an answer: a value where it is worked with; the text of its file where it is kept, as a sweep may have thousands, and the
// value of a large one takes megabytes.
class StoredPlan {
 public:
  // Texts by themselves, so that equal plans share one.
  using Texts = std::map<std::string_view, std::shared_ptr<const std::string>>;

  StoredPlan() = default;  // none
  StoredPlan(std::shared_ptr<const pcg::Plan> plan) : plan_(std::move(plan)) {}
  // As a plan's file has it. Requires: `rewrites` are those in it.
  StoredPlan(std::string text, std::vector<pcg::Rewrite> rewrites);

  explicit operator bool() const { return plan_ || text_; }
  // Requires: a plan, and not as text.
  [[nodiscard]] const pcg::Plan& operator*() const;
  [[nodiscard]] const pcg::Plan* operator->() const { return &**this; }
  // Returns the value, null for none. Cost: the reading of its text, where it is one, which is not kept.
  [[nodiscard]] std::shared_ptr<const pcg::Plan> value() const;
  [[nodiscard]] std::string text() const;  // requires a plan
  [[nodiscard]] const std::vector<pcg::Rewrite>& rewrites() const { return plan_ ? plan_->rewrites : rewrites_; }

  void keep_text(Texts& known);
  void keep_value() { *this = StoredPlan(value()); }

  // Texts are as equal as what they say. A text and a value that are compared are not read: they count as different.
  friend bool operator==(const StoredPlan& a, const StoredPlan& b);

 private:
  std::shared_ptr<const pcg::Plan> plan_;
  std::shared_ptr<const std::string> text_;
  std::vector<pcg::Rewrite> rewrites_;  // beside the text
};

// lost, crashed: the worker process that was to answer was ended from outside, or by a fault of the program, twice.
enum class Status { ok, out_of_memory, infeasible, time_limit, lost, crashed };
[[nodiscard]] std::string_view to_text(Status s);

// How a planner came to its plan, or to none.
struct Planning {
  bool searched = false;  // it chose the best of many plans; false: the plan follows from a rule or from a file
  std::string found_by;   // the part of the search that made the plan; empty: there is none
  search::Termination termination = search::Termination::optimal();
  std::optional<base::Seconds> objective, bound;
  std::uint64_t counted = 0;                // what the option `candidates` limits
  std::vector<search::LostCandidate> lost;  // the most telling first
  std::vector<base::Fact> notes;            // what the planner has to say of its search
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
  ForecastFacts facts;                              // where a plan was made: what comparisons go by
  // Of what-ifs, over the same entry on the base, and over the best plan of the base where that is another entry's.
  std::optional<Speedup> against_base, against_best;
  double samples_per_s = 0, tokens_per_s = 0;  // tokens: 0 when the model has no sequence
  // Model FLOPs (forward x 3, no recomputation) / (time x dense peak of the precision x GPUs): with whole attention squares, and without
  // what causal masks throw away of them (pcg/work/work.hpp).
  double mfu = 0, mfu_causal = 0;
  int gpus = 0;
  // Wall clock. The simulation's is 0 where the search has simulated its plan already.
  base::Seconds search_time, simulation_time;
  std::string plan_summary;
  std::vector<base::Note> notes;  // about this answer, and what the forecast is based on

  [[nodiscard]] bool is_of_base() const { return variant == kBaseName; }
};

// A plan inside the margin of memory counts as slower by this factor.
inline constexpr double kTightCost = 1.02;

// Whether `a` is the better answer: it fits, and is the quicker one.
[[nodiscard]] bool is_preferred(const Run& a, const Run& b);

// Both have a plan, and it is the same, or neither has one.
[[nodiscard]] bool have_same_plan(const Run& a, const Run& b);

// The worth of a parameter of the cluster to a plan of the base (scenarios/answer/run.hpp).
struct Sensitivity {
  std::string plan;
  std::string parameter;  // "cluster.links.infiniband.bandwidth"
  double elasticity = 0;  // of the iteration time, with the same plan
  // With a parameter that is twice as good (a latency: half of it): the iteration time with the same plan; of a memory, which changes what
  // fits, with a new one. nullopt: nothing fits, or there is no answer.
  double change = 2;  // the parameter's factor
  bool replanned = false;
  std::optional<base::Seconds> improved;
  base::Seconds time;              // of the base
  std::optional<Speedup> speedup;  // of `improved` over it
};

// The plans of the base that are forecast to be the quickest: one, or several that come to the same.
struct Favourite {
  std::vector<std::string> plans;  // names of entries
  std::size_t of = 0;              // plans that fit
  double probability = 1;          // that no other is quicker; plans that come to the same have it together
};

// The program that gave an answer.
struct Program {
  std::string version;  // "0.2.0"
  std::string commit;   // "1a2b3c4d"; empty: it was built without a checkout
};

struct ScenarioResult {
  std::string scenario;
  std::vector<Run> runs;
  std::optional<Favourite> favourite;      // where two plans of the base fit, or more
  std::vector<Sensitivity> sensitivity;    // plan by plan, the largest first
  std::optional<CapacityResult> capacity;  // where the scenario asks
  std::vector<Run> capacity_runs;          // that it is based on: CapacityCase::run counts them
  std::size_t unanswered = 0;              // what-ifs, probes and machines that an interruption has kept from being begun

  // What was asked, of what, and of whom.
  base::Yaml question;  // a scenario that can be run again (scenarios/question/subject.hpp)
  Subject subject;
  Program program;
  std::uint64_t seed = 1;

  // Return the run of a variant, or of the base, that is preferred among those that fit; null: none does.
  [[nodiscard]] const Run* best_on(std::string_view variant) const;
  [[nodiscard]] const Run* best_of_base() const { return best_on(kBaseName); }
};

// Runs as JSON, exact to the last bit: the form in which a worker process hands its answers back, and in which they are kept. Not a format
// for users: that is reports/json. A plan that equals `known` (may be null) is not written.
[[nodiscard]] nlohmann::json encode(const std::vector<Run>& runs, const std::shared_ptr<const pcg::Plan>& known = {});
// Requires: the value comes from encode(), with the same `known`.
[[nodiscard]] std::vector<Run> decode(const nlohmann::json& encoded, const std::shared_ptr<const pcg::Plan>& known = {});

// Returns the sentences, by kind, the most important first: what is missing in memory, how a search ended that found nothing or was cut
// off; what the forecast is based on; why the base's plan is not used, what the planner says of its search, and at most `most_lost` of the
// candidates that lost. Not empty where there is no plan.
[[nodiscard]] std::vector<base::Note> run_notes(const Run& run, std::size_t most_lost = std::numeric_limits<std::size_t>::max());

// Why an MFU is above 1; nullopt: it is not. `causal`: without what masks throw away.
[[nodiscard]] std::optional<base::Note> high_mfu_note(double causal);

}  // namespace scenarios
