#pragma once
// The answer of capacity planning for each candidate, number of nodes and plan: time, cost, energy, and what becomes of the limits.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "scenarios/capacity/costs.hpp"
#include "scenarios/capacity/terms.hpp"

namespace scenarios {

// How likely a forecast with an interval keeps a limit. surely: the whole interval of 90 % keeps the limit; probably: the middle does;
// unlikely: the lower end alone; no: not even that.
enum class Chance { surely, probably, unlikely, no };
[[nodiscard]] std::string_view to_text(Chance c);
// Whether the middle keeps the limit.
[[nodiscard]] constexpr bool meets(Chance c) { return c == Chance::surely || c == Chance::probably; }

// Requires: low <= middle <= high.
template <class Amount>
[[nodiscard]] Chance chance(Amount low, Amount middle, Amount high, Amount limit) {
  if (high <= limit) return Chance::surely;
  if (middle <= limit) return Chance::probably;
  return low <= limit ? Chance::unlikely : Chance::no;
}

// A plan on a machine, as the simulation forecasts it.
struct TrainingForecast {
  base::Seconds iteration, low, high;  // of the iteration time, with its interval of 90 %; low <= iteration <= high, above 0
  double samples_per_s = 0, tokens_per_s = 0;
  int gpus = 0;        // that the plan uses: their failures stop it
  base::Bytes states;  // weights and optimizer states, once: what a checkpoint holds
};

// What is asked of one candidate with one number of nodes under one plan.
struct CapacityCase {
  std::size_t candidate = 0;  // of CapacityTerms::candidates
  Fleet fleet;
  std::size_t plan = 0;                      // of the plans that capacity planning asks for
  std::size_t run = 0;                       // of the simulations: where the rest of its figures stands
  std::optional<TrainingForecast> forecast;  // nullopt: there is no plan, or it does not fit
};

// What failures and checkpoints do.
struct Losses {
  base::Seconds mtbf;  // of the job
  base::Bytes checkpoint_size;
  base::Seconds checkpoint;  // training stops for so long to save
  base::Seconds interval;    // of training between two checkpoints
  double failures = 0;       // that are expected in the whole training
};

struct Outcome {
  double goodput = 1;
  base::Seconds time, time_low, time_high;
  std::optional<Losses> losses;  // where the scenario has `reliability`
  double rented_gpu_hours = 0;   // of the whole training, as the next three
  base::Dollars owned_cost;      // of the owned part alone
  std::optional<Costs> costs;    // nullopt: something is rented that has no price
  std::optional<base::Joules> energy;
  std::optional<Chance> deadline, budget;  // where there is such a limit, and a cost
  std::optional<bool> on_frontier;         // of cost against time; where there is a cost
  [[nodiscard]] base::Dollars cost_low() const { return costs->total() * (time_low / time); }
  [[nodiscard]] base::Dollars cost_high() const { return costs->total() * (time_high / time); }
};

// 300 years, the longest time that a scenario can write. Failures that come before the first checkpoint make trainings that never end.
inline constexpr base::Seconds kLongestTraining{1e10};

struct CapacityEntry {
  CapacityCase asked;
  std::optional<Outcome> outcome;  // nullopt: it cannot train, or takes longer than kLongestTraining
};

// Returns one entry per case, in order.
//   time   = work / speed / goodput         (tokens / (tokens/s) / goodput; iterations x iteration time / goodput)
//   energy = power x nodes x time x PUE
// The interval of the iteration time goes on to time and cost; failures count as they come on average. A checkpoint's size is the plan's
// states unless the terms say it; it is written in size / bandwidth, at most once in an
// iteration, and at the end.
[[nodiscard]] std::vector<CapacityEntry> capacity_entries(const CapacityTerms& terms, std::span<const CapacityCase> cases);

// Two figures of which less is better.
struct Figures {
  double cost = 0, time = 0;
  bool operator==(const Figures&) const = default;
};

// Returns, in the order of the figures, whether each is on the Pareto frontier: no other is at most as large in both and smaller in one.
// Equal ones are on it together. Requires: finite. Cost: O(n log n).
[[nodiscard]] std::vector<bool> on_frontier(std::span<const Figures> all);

}  // namespace scenarios
