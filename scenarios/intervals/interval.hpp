#pragma once
// The 90 % interval of a forecast, from how far earlier forecasts were from measurements: quantiles of signed log residuals
// ln(measured / predicted), in which a group of measurements weighs the more, the more it is like the workload. Not here: how the model is
// made (scenarios/confidence/fit/interval_fit), nor any measurement. Background: docs/accuracy.md.
// Start here: workload_of() (workload.hpp) describes a simulated plan, interval_for() gives its interval by shipped_intervals().

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "scenarios/intervals/pairs.hpp"
#include "scenarios/intervals/workload.hpp"

namespace scenarios {

// How much a group of measurements counts for a workload: the product of these over what tells them apart, each 0 .. 1.
struct Similarity {
  double other_software = 1;  // where it is of other software
  double other_feature = 1;   // for each other feature that differs
  double per_doubling = 1;    // for each doubling of the parameters beyond the group's range
};

// How large residuals are expected to be for a workload, relative to one whose shares are 0: e^(sum of rate x share).
struct SpreadGrowth {
  Shares rate{};
};

inline constexpr double kLeastSpread = 0.01;  // below a percent nothing repeats itself

// A pair of log ratios measured / predicted, low <= 0 <= high: the interval is predicted x [exp(low), exp(high)].
struct Spread {
  double low = 0, high = 0;
};

// Residuals of one kind of workload in one group of measurements.
struct IntervalGroup {
  std::string source;  // name of the group of measurements
  WorkloadKind kind;
  std::size_t points = 0;
  double least_log2_parameters = 0, most_log2_parameters = 0;  // the range that the points cover
  double weight = 0;                                           // before similarity, > 0
  std::vector<double> quantiles;                               // ascending, of scaled residuals; each has the same share of the weight
  int most_gpus = 1;                                           // of a point
};

struct IntervalModel {
  double level = 0.9;
  // The share of the weight on either side of the interval. Below (1 - level) / 2 where that much would hold too little of a group that was
  // left out.
  double tail = 0.05;
  Similarity similarity;
  SpreadGrowth growth;
  std::vector<IntervalGroup> groups;
  PairModel pairs;  // of comparisons
};

struct Interval {
  base::Seconds low, high;
  base::Note note;  // what it is based on
};

// Returns e^(sum of rate x unsure share): a residual divided by it is scaled.
[[nodiscard]] double scale_of(const SpreadGrowth& growth, const Shares& unsure);

// Between a group and a workload.
struct Difference {
  [[nodiscard]] bool is_none() const { return !software && other_features == 0; }  // of one kind, whatever their sizes
  bool software = false;   // in its framework, or in how that shards replicas or freezes weights
  int other_features = 0;  // of their kinds
  double doublings = 0;    // of the workload's parameters beyond the group's range
};
[[nodiscard]] Difference difference_of(const IntervalGroup& g, const Workload& w);
using Differences = std::vector<std::optional<Difference>>;  // one per group; none: the group does not count
// Returns the factor on a group's weight: from 0, not at all, to 1, as the workload's own kind.
[[nodiscard]] double similarity_of(const Similarity& similarity, const Difference& d);

// The quantiles of all groups in one ascending order, so that many spreads can be read from one sorting.
class SortedQuantiles {
 public:
  explicit SortedQuantiles(std::span<const IntervalGroup> groups);
  // Returns the values that `tail` of the weight lies at or below, and at or above; the spread is a percent wide either way at least.
  // `weights`: one per group, >= 0, of all its quantiles together. Requires: a weight above 0. Cost: O(quantiles).
  [[nodiscard]] Spread spread(std::span<const double> weights, double tail) const;

 private:
  struct Entry {
    double value = 0;
    std::size_t group = 0;
    double share = 0;  // of its group's weight
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries_;
};

// Fewer points of one kind say little of its tails.
inline constexpr std::size_t kLeastOfKind = 20;
// Returns the weighted quantiles of all groups' scaled residuals. Where at least kLeastOfKind points are of the workload's own kind, the
// spread also holds the level of those: what others measured makes it no surer. nullopt: no group counts. `sorted`: of the model's groups.
[[nodiscard]] std::optional<Spread> scaled_spread(const IntervalModel& model, const SortedQuantiles& sorted,
                                                  const Differences& differences);
// Returns the spread of a workload: scaled_spread() times the workload's scale. Requires: the model has groups. With profiles of the
// scenario's own it is as wide as with any that ships at least. Cost: O(n log n) in quantiles of all groups.
[[nodiscard]] Spread spread_for(const IntervalModel& model, const Workload& w);
// Returns the natural logarithm of how much wider the spread is because no run of the software, or over such a network, was measured.
[[nodiscard]] double unmeasured_growth(const IntervalModel& model, const Workload& w);
// Returns how many measured iterations are of the workload's kind.
[[nodiscard]] std::size_t points_of_kind(const IntervalModel& model, const Workload& w);
// Returns an interval, which always holds the forecast. A share c of the time that a trace measured brings in what that left, h:
// sqrt((c h)^2 + (1 - c^2) spread^2), each way. A model without groups gives +-30 %, and the note says that this is an assumption.
[[nodiscard]] Interval interval_for(const IntervalModel& model, const Workload& w, base::Seconds forecast);

// Returns the model that ships: scenarios/intervals/iterations.yaml as it was when the program was built.
[[nodiscard]] const IntervalModel& shipped_intervals();
// Returns the model of a text form (docs/formats/measurements.md, "Accuracy file"). Throws: base::InputError with every problem found.
[[nodiscard]] IntervalModel read_intervals(const base::Yaml& document);
// Returns the text form. `made_by`: the command, for the first line. read_intervals(parse(write_intervals(m))) is m to the digits written.
[[nodiscard]] std::string write_intervals(const IntervalModel& model, const std::string& made_by);

}  // namespace scenarios
