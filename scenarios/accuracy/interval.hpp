#pragma once
// The 90 % interval of a forecast, from how far earlier forecasts were from measurements: conformal quantiles of signed log residuals
// ln(measured / predicted), per group of like questions, wider the farther a question lies outside what its group covers. Not here:
// how the quantiles are made (calibration/interval_fit), nor any measurement. Background: docs/accuracy.md.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/note.hpp"
#include "base/units.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/simulation.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

// The kind of a question. Questions whose five words are equal are compared by their features.
struct QuestionKind {
  std::string framework;  // "megatron"
  std::string device;     // generation: a device type up to its first dash ("a100"), "mixed" for several
  std::string fabric;     // "one GPU" | "one node" | "several nodes"
  std::string precision;  // "half" (fp16, bf16) | "single" (fp32, tf32) | "fp8" | "mxfp8" | "nvfp4"
  std::string replicas;   // "whole" | "sharded": gradients or weights are shared out among them (ZeRO 2, 3)
  auto operator<=>(const QuestionKind&) const = default;
};

// A number that a question is compared by. Counts and sizes are base-2 logarithms, shares of the iteration time go from 0 to 1.
struct Feature {
  std::string_view name;
  // What a question lies beyond a range is divided by the range's width, or by this where the range is narrower (every row had 8 GPUs): a
  // doubling, or a tenth of the iteration.
  double least_width = 1;
};
inline constexpr std::array<Feature, 7> kFeatures = {{
    {"log2_parameters"},     // of the model
    {"log2_gpus"},           //
    {"log2_kernel_flops"},   // forward FLOPs of one micro-batch per GPU: what tells large kernels from small ones
    {"log2_micro_batches"},  // per iteration
    {"log2_tensor"},         // GPUs per stage that share a sample
    {"log2_pipeline"},       // stages, not counting chunks
    {"communication", 0.1},  // share of the iteration that is exposed communication
}};
using Features = std::array<double, kFeatures.size()>;  // in this order

struct Question {
  QuestionKind kind;
  Features features{};
};

// A pair of log ratios measured / predicted, low <= 0 <= high: the interval is predicted x [exp(low), exp(high)].
struct Spread {
  double low = 0, high = 0;
};

// Residuals of one kind of question.
struct IntervalGroup {
  QuestionKind kind;
  std::size_t points = 0;
  std::vector<std::string> sources;  // names of the groups of measurements, sorted
  Spread spread;
  Features low{}, high{};  // the range that the points cover
};

struct IntervalModel {
  double level = 0.9;
  double extrapolation_rate = 0;  // a spread grows by this share of itself per range-width beyond the covered range
  std::vector<IntervalGroup> groups;
  Spread pooled_spread;  // for a question whose kind no group has: leave-one-group-out
};

struct Interval {
  base::Seconds low, high;
  base::Note note;  // what it rests on
};

// Returns the kind and the features of a simulated plan. Cost: O(operators).
[[nodiscard]] Question question_of(const pcg::Plan& plan, const topology::Cluster& cluster, const sim::SimulationResult& s);

// Returns how far outside a group's range a question lies: 0 inside; per feature the excess over the range's width (at least one doubling,
// or a tenth of the iteration for shares), as a Euclidean norm.
[[nodiscard]] double distance_beyond(const Features& x, const Features& low, const Features& high);

// The spread for a question. `distance`: beyond the range of the group that was found, else of the nearest group of any kind.
struct FoundSpread {
  Spread spread;
  const IntervalGroup* group = nullptr;  // nullptr: none is of this kind
  double distance = 0;
};
// Returns, of its kind's group: the spread, blended, end by end, towards the wider of it and pooled_spread over the first range-width
// beyond the range, times 1 + extrapolation_rate x distance. Without such a group: pooled_spread, times the same. Requires: the model has
// groups.
[[nodiscard]] FoundSpread spread_for(const IntervalModel& model, const Question& q);
// Returns an interval, which always holds the forecast. A model without groups gives +-30 %, and the note says that this is an assumption.
[[nodiscard]] Interval interval_for(const IntervalModel& model, const Question& q, base::Seconds forecast);

}  // namespace scenarios
