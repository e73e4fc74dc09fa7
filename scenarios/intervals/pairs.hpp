#pragma once
// The 90 % interval of a comparison. Two forecasts share most of their error, so their ratio is surer than either: how sure is measured on
// pairs of iterations of one source and one model that differ in exactly one kind of thing (Change). Not here: how the model is made
// (scenarios/confidence/fit/pair_fit), nor what a run is (scenarios/answer/comparisons).
// Start here: ForecastFacts is one side, speedup_interval() the interval of a ratio, probability_of_best() how surely a plan is the
// quickest. Background: docs/accuracy.md, "Comparisons".

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/yaml/reader.hpp"
#include "base/yaml/tree.hpp"
#include "scenarios/intervals/workload.hpp"

namespace scenarios {

// What two forecasts of one training differ in.
//   plan: how operators are cut, stages, schedule, recomputation, ZeRO, samples of a shard of a micro-batch.
//   scale: GPUs, or samples of an iteration.
//   precision: of products.
//   machine: devices, links, network, library; not the number of nodes.
enum class Change { plan, scale, precision, machine };
inline constexpr std::array<std::string_view, 4> kChangeNames = {"plan", "scale", "precision", "machine"};

// One side of a comparison. Texts are compared alone: a digest does.
struct ForecastFacts {
  std::string work;  // model, optimizer, framework
  std::string plan;
  int gpus = 1;
  double samples = 1;  // of an iteration
  std::string precision;
  std::map<std::string, std::string> machine;   // by part; a type of link is the part kLinkPart + its name
  std::map<std::string, double> links;          // by type that carries bytes: the share of the time in which GPUs wait for it
  std::array<double, kShares.size()> shares{};  // of the workload
  double spread = 0;                            // of its own interval: ln(high / low) / 2
  double unmeasured = 0;                        // ln of how much that is wider for software and a network of which no run was measured
};
inline constexpr std::string_view kLinkPart = "link ";

struct Changes {
  std::array<bool, kChangeNames.size()> kinds{};  // by Change
  bool other = false;                             // another model, optimizer or framework: no pairs of this sort were measured
  [[nodiscard]] bool any() const;
  [[nodiscard]] int count() const;  // of kinds
  bool operator==(const Changes&) const = default;
};
// Symmetric. A link that neither side uses counts for nothing; samples count as the scale.
[[nodiscard]] Changes changes_between(const ForecastFacts& a, const ForecastFacts& b);

// The interval of a ratio is ratio x [e^-s, e^s], s by what differs.
struct PairModel {
  double level = 0.9;
  std::array<double, kChangeNames.size()> spread{};  // of |ln(measured ratio / predicted ratio)|, by Change; 0: no pairs were measured
  double growth = 0;                                 // a spread grows by e^(this x differences of the two workloads' shares)
};

// A share of the time by which two workloads differ in what makes forecasts less sure: the sum of |differences| of their shares.
[[nodiscard]] double shares_apart(const ForecastFacts& a, const ForecastFacts& b);

// The spread s of a ratio of two forecasts, by what they differ in.
//   Nothing (the same plan on the same machine, whatever its links that nothing uses): 0.
//   Kinds differ of which pairs were measured: the root of the sum of their squares, grown by the difference of shares.
//   Links alone differ: the spread of machines on the share of the time in which GPUs wait for these links, on either side the larger.
//   A kind without pairs, or something else, differs: errors are independent, the root of the sum of the squares of both sides' own
//   spreads.
// Never above that of independent errors, nor, where anything differs, below kLeastPairSpread.
inline constexpr double kLeastPairSpread = 0.01;  // below a percent nothing repeats itself

// How many times as quick a forecast is as another.
struct Speedup {
  double ratio = 1, low = 1, high = 1;                         // low <= ratio <= high
  [[nodiscard]] bool is_exact() const { return low == high; }  // nothing differs that has a part in the time
  [[nodiscard]] bool is_no_sure_gain() const { return !is_exact() && low <= 1 && high >= 1; }
};
// Returns the ratio with its interval, ratio x [e^-s, e^s]. Two answers of which nothing differs but the time itself are of two
// plans that their facts do not tell apart. Requires: ratio > 0.
[[nodiscard]] Speedup speedup_interval(const PairModel& model, const ForecastFacts& a, const ForecastFacts& b, double ratio);

// A plan beside the one that is forecast to be the quickest.
struct Rival {
  double behind = 0;  // ln(its time / the quickest's), >= 0
  double spread = 0;  // s of the two, > 0
};
// Returns the probability that the quickest by forecast is truly the quickest of all: errors of plans are independent and normal in the
// logarithm, of the deviation spread / (z sqrt 2) each, where z is the normal quantile of the level (1.645 of 90 %). With one rival it is
// Phi(behind z / spread). 1 without rivals. Cost: O(rivals), by quadrature on a fixed grid.
[[nodiscard]] double probability_of_best(std::span<const Rival> rivals, double level = 0.9);

// Read and write the section `pairs:` of an accuracy file (scenarios/intervals/interval.hpp). Without it no kind has pairs.
[[nodiscard]] PairModel read_pairs(base::MapReader& accuracy, double level);
[[nodiscard]] std::string pairs_text(const PairModel& model);  // empty where no kind has pairs

}  // namespace scenarios
