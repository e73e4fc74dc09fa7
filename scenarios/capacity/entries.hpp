#pragma once
// The answer of capacity planning for each candidate, number of nodes and plan: time, cost, energy, and what becomes of the limits.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "scenarios/capacity/terms.hpp"
#include "scenarios/intervals/pairs.hpp"

namespace scenarios {

inline constexpr base::Seconds kHour{3600};

// Machines that work for the training: the first nodes are owned, as far as the terms say, and the rest is rented.
struct Fleet {
  int nodes = 0, gpus = 0;
  int owned_nodes = 0, owned_gpus = 0;
  [[nodiscard]] int rented_nodes() const { return nodes - owned_nodes; }
  [[nodiscard]] int rented_gpus() const { return gpus - owned_gpus; }
};

// Costs of an hour, or of a whole training. Every part is proportional to the time, so that an interval of the time is one of the cost.
struct Costs {
  base::Dollars rent, capex, operations, electricity;
  [[nodiscard]] base::Dollars total() const { return rent + capex + operations + electricity; }
};

// Returns what the owned part of the fleet costs in an hour; zeros where nothing is owned.
//   capex       = capex / (years x 8760 x utilisation)
//   operations  = operations / (8760 x utilisation)
//   electricity = power x PUE x price of a kWh; that of rented nodes is in their rent
// (what an hour of an owned machine costs in total cost of ownership: its costs over its life, over the hours in which it works.)
[[nodiscard]] Costs owned_hourly_costs(const CandidateTerms& terms, const Fleet& fleet);

// Returns the same with the rent of the rest; nullopt: something is rented and has no price.
[[nodiscard]] std::optional<Costs> hourly_costs(const CandidateTerms& terms, const Fleet& fleet);

// Returns the costs of a training that takes so long.
[[nodiscard]] Costs over(const Costs& hourly, base::Seconds time);

// Returns the power of the whole site, with its cooling; nullopt where the terms do not say.
[[nodiscard]] std::optional<base::Watts> site_power(const CandidateTerms& terms, const Fleet& fleet);

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
  return middle <= limit ? Chance::probably : low <= limit ? Chance::unlikely : Chance::no;
}

// A plan on a machine, as the simulation forecasts it.
struct TrainingForecast {
  base::Seconds iteration, low, high;  // of the iteration time, with its interval of 90 %; low <= iteration <= high, above 0
  double samples_per_s = 0, tokens_per_s = 0;
  int gpus = 0;        // that the plan uses: their failures stop it
  base::Bytes states;  // weights and optimizer states, once: what a checkpoint holds
};

// One candidate with one number of nodes under one plan.
struct CapacityCase {
  std::size_t candidate = 0;  // of CapacityTerms::candidates
  Fleet fleet;
  std::size_t plan = 0;                      // of the plans that capacity planning asks for
  std::size_t run = 0;                       // number of the simulation with the rest of its figures
  std::optional<TrainingForecast> forecast;  // nullopt: there is no plan, or it does not fit
};

// Effects of failures and checkpoints.
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
  std::optional<Speedup> speedup;  // to train, over the machine that the answer names: cheapest, smallest, else first (scenarios/answer)
};

// Returns one entry per case, in order.
//   time   = work / speed / goodput         (tokens / (tokens/s) / goodput; iterations x iteration time / goodput)
//   energy = power x nodes x time x PUE
// The interval of the iteration time goes on to time and cost; failures count as they come on average. A checkpoint's size is the plan's
// states unless the terms say it; it is written in size / bandwidth, at most once in an iteration, and at the end.
[[nodiscard]] std::vector<CapacityEntry> capacity_entries(const CapacityTerms& terms, std::span<const CapacityCase> cases);

// Two figures of which less is better.
struct Figures {
  double cost = 0, time = 0;
  bool operator==(const Figures&) const = default;
};

// Returns, in the order of the figures, whether each is on the Pareto frontier: no other is at most as large in both and smaller in one.
// Equal ones are on it together. Requires: finite. Cost: O(n log n).
[[nodiscard]] std::vector<bool> on_frontier(std::span<const Figures> all);

// The share of the time in which a job trains, where it fails now and then and saves checkpoints.
//
// The model: failures come at random with a mean time M between them (exponential), and may come while the job saves or restarts, too. The
// job trains for t, saves for d, and so on. A failure costs what was done since the last checkpoint, and R until the job trains again.
// A segment of t + d is done when nothing fails for so long. Let E be the expected time to get through one, from its start: with
// P = exp(-(t + d) / M) it takes t + d; else the time until the failure, a restart (which may fail and begin again), and E once more:
//   restart: M (exp(R / M) - 1)        segment: E = M exp(R / M) (exp((t + d) / M) - 1)
// so that goodput = t / E, exactly (J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
// Generation Computer Systems 22, 2006; M. Bougeret et al., Checkpointing strategies for parallel jobs, SC'11, with the same result). The
// first-order 1 - d/t - t/(2M) - R/M is its beginning as a series, and falls below 0 where this does not.
// All above 0 but `checkpoint` and `restart`, which are at least 0.
struct FailureTimes {
  base::Seconds mtbf;        // M: of the job, that of a GPU over the number of GPUs
  base::Seconds checkpoint;  // d: training stops for so long to save
  base::Seconds restart;     // R
};

// Returns t, the training between two checkpoints: Daly's higher-order estimate of the best,
//   sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d  where d < 2M, else M,
// whose first factor is Young's (J. W. Young, Communications of the ACM 17(9), 1974). Its goodput is within 0.2 % of the best there is,
// whatever d; that of Young's alone is so up to d = M/20 only, and 12 % worse at d = M, to which ten thousand GPUs and a slow store come
// near (tests/scenarios/capacity/goodput_test.cpp). 0 where a checkpoint takes no time.
[[nodiscard]] base::Seconds checkpoint_interval(const FailureTimes& times);

// Returns the goodput of a job that trains for `interval` between checkpoints: above 0, below 1, and 0 where a double holds no such small
// number. Requires: interval > 0.
[[nodiscard]] double goodput(const FailureTimes& times, base::Seconds interval);

}  // namespace scenarios
