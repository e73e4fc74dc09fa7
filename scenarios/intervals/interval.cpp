#include "scenarios/intervals/interval.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

namespace scenarios {
namespace {

// Without any measurement the interval is an assumption: rooflines with default efficiencies are taken to be within 30 %.
constexpr double kUncalibrated = 0.30;
constexpr double kLeastSpread = 0.01;  // below a percent nothing repeats itself

std::string text_of(const WorkloadKind& k) {
  return fmt::format("{}{}, {}, {}{}, {} precision, {} replicas, {} layers", k.framework, k.own.framework ? " of the scenario" : "",
                     k.own.device ? "of a file" : k.device, k.fabric, k.own.network ? ", its profile of a file" : "", k.precision,
                     k.replicas, k.layers);
}

std::vector<double> weights_for(const IntervalModel& model, const Workload& w) {
  std::vector<double> weights;
  for (const IntervalGroup& g : model.groups) weights.push_back(g.weight * similarity_of(model.similarity, difference_of(g, w)));
  return weights;
}

// Of its own kind, else of all: a reader wants to know whether anything like the workload was measured.
base::Note note_for(const IntervalModel& model, const Workload& w) {
  const std::vector<double> weights = weights_for(model, w);
  double own = 0, all = 0;
  std::size_t points = 0, all_points = 0;
  for (std::size_t i = 0; i < model.groups.size(); ++i) {
    const IntervalGroup& g = model.groups[i];
    const bool same = g.kind == w.kind;
    own += same ? weights[i] : 0;
    all += weights[i];
    points += same ? g.points : 0;
    all_points += g.points;
  }
  if (points == 0)
    return {base::NoteKind::caution,
            fmt::format("the interval rests on {} measured iterations of other kinds, the more alike the more they "
                        "count, because none is of this kind ({})",
                        all_points, text_of(w.kind))};
  return {base::NoteKind::detail,
          fmt::format("the interval rests on {} measured iterations of this kind ({}), for {:.0f} %, and on {} of other kinds", points,
                      text_of(w.kind), 100 * own / all, all_points - points)};
}

}  // namespace

double scale_of(const SpreadGrowth& growth, const Workload& w) {
  double sum = 0;
  for (std::size_t i = 0; i < kShares.size(); ++i) sum += growth.rate[i] * w.shares[i];
  return std::exp(sum);
}

Difference difference_of(const IntervalGroup& g, const Workload& w) {
  const auto a = g.kind.features(), b = w.kind.features();
  Difference d;
  d.framework = a[0] != b[0];
  for (std::size_t i = 0; i < a.size(); ++i) d.other_features += a[i] != b[i];
  d.other_features -= d.framework;
  d.doublings = std::max({0.0, g.least_log2_parameters - w.log2_parameters, w.log2_parameters - g.most_log2_parameters});
  return d;
}

double similarity_of(const Similarity& similarity, const Difference& d) {
  double product = d.framework ? similarity.other_framework : 1;
  for (int i = 0; i < d.other_features; ++i) product *= similarity.other_feature;
  return d.doublings > 0 ? product * std::pow(similarity.per_doubling, d.doublings) : product;
}

SortedQuantiles::SortedQuantiles(std::span<const IntervalGroup> groups) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const double value : groups[g].quantiles) entries_.push_back({value, g, 1.0 / static_cast<double>(groups[g].quantiles.size())});
  std::ranges::sort(entries_);
}

Spread SortedQuantiles::spread(std::span<const double> weights, double tail) const {
  // Rounding must not skip a value that is just enough.
  const double wanted = tail * std::accumulate(weights.begin(), weights.end(), 0.0) * (1 - 1e-12);
  const auto quantile = [&](const auto& entries) {
    double sum = 0, last = 0;
    for (const Entry& e : entries) {
      if (weights[e.group] == 0) continue;
      last = e.value;
      if ((sum += weights[e.group] * e.share) >= wanted) break;
    }
    return last;
  };
  return {std::min(-kLeastSpread, quantile(entries_)), std::max(kLeastSpread, quantile(entries_ | std::views::reverse))};
}

Spread spread_for(const IntervalModel& model, const Workload& w) {
  const Spread scaled = SortedQuantiles(model.groups).spread(weights_for(model, w), model.tail);
  const double scale = scale_of(model.growth, w);
  return {scaled.low * scale, scaled.high * scale};
}

Interval interval_for(const IntervalModel& model, const Workload& w, base::Seconds forecast) {
  if (model.groups.empty())
    return {forecast * (1 - kUncalibrated),
            forecast * (1 + kUncalibrated),
            {base::NoteKind::assumption, "the interval of +-30 % is an assumption, because no residuals are known"}};
  const Spread found = spread_for(model, w);
  return {forecast * std::exp(found.low), forecast * std::exp(found.high), note_for(model, w)};
}

}  // namespace scenarios
