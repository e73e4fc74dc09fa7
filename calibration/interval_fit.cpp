#include "calibration/interval_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "base/random.hpp"

namespace calibration {
namespace {

using scenarios::Features;
using scenarios::IntervalGroup;
using scenarios::IntervalModel;
using scenarios::QuestionKind;
using scenarios::Spread;

constexpr double kLeastSpread = 0.01;      // below a percent nothing repeats itself
constexpr std::size_t kLeastForEnds = 20;  // points of a group that its ends can be held out of
constexpr double kHeldOutEnd = 0.2;        // share of a group at one end of a feature's range
constexpr int kSplits = 20;                // random halves, whose mean is steadier than one

using Residuals = std::vector<const Residual*>;
using ByKind = std::map<QuestionKind, Residuals>;

ByKind by_kind(std::span<const Residual> residuals) {
  ByKind groups;
  for (const Residual& r : residuals) groups[r.question.kind].push_back(&r);
  std::erase_if(groups, [](const auto& g) { return g.second.size() < 2; });
  return groups;
}

std::vector<double> log_ratios(const Residuals& group) {
  std::vector<double> values;
  for (const Residual* r : group) values.push_back(r->log_ratio);
  return values;
}

// A source weighs as the root of its number of points: more points say more, but a long table does not drown the others.
std::vector<double> source_weights(const Residuals& group) {
  std::map<std::string, double> count;
  for (const Residual* r : group) count[r->source] += 1;
  std::vector<double> weights;
  for (const Residual* r : group) weights.push_back(1 / std::sqrt(count[r->source]));
  return weights;
}

std::vector<double> mapped(std::vector<double> values, double (*f)(double)) {
  std::ranges::transform(values, values.begin(), f);
  return values;
}
double negative(double x) { return -x; }
double magnitude(double x) { return std::abs(x); }

Spread held_open(double low, double high) { return {std::min(low, -kLeastSpread), std::max(high, kLeastSpread)}; }
Spread widest(Spread a, Spread b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Share of the weight below a value.
double share_below(std::span<const double> values, std::span<const double> weights, double limit) {
  double below = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i] < limit ? weights[i] : 0;
    total += weights[i];
  }
  return below / total;
}

// The upper end. Where the lower tail's quantile is above 0 the interval goes down to the forecast all the same and misses fewer below than
// it may: the upper tail gets what is left.
TailQuantile upper_end(std::span<const double> values, std::span<const double> weights, const TailQuantile& lower, double tail) {
  const bool spare = lower.enough && lower.value < -kLeastSpread;  // of negated values: the lower end would be above the forecast
  return conformal_quantile(values, weights, spare ? 2 * tail - share_below(values, weights, -kLeastSpread) : tail);
}

// nullopt: too few points.
std::optional<Spread> own_spread(const Residuals& group, double level) {
  const std::vector<double> values = log_ratios(group), negated = mapped(values, negative), weights = source_weights(group);
  const double tail = (1 - level) / 2;
  const TailQuantile high = upper_end(values, weights, conformal_quantile(negated, weights, tail), tail);
  const TailQuantile low = upper_end(negated, weights, conformal_quantile(values, weights, tail), tail);
  if (high.enough && low.enough) return held_open(-low.value, high.value);
  const TailQuantile both = conformal_quantile(mapped(values, magnitude), weights, 2 * tail);
  if (both.enough) return held_open(-both.value, both.value);
  return std::nullopt;
}

Spread extremes(const Residuals& group) {
  const std::vector<double> values = log_ratios(group);
  return held_open(std::ranges::min(values), std::ranges::max(values));
}

// The factor on a spread that would just hold a residual.
double needed_factor(double log_ratio, Spread s) { return log_ratio < 0 ? log_ratio / s.low : log_ratio / s.high; }

// Plain weighted quantile, without the finite-sample correction: of averages over kinds.
double weighted_quantile(std::vector<std::pair<double, double>> value_weight, double p) {
  std::ranges::sort(value_weight);
  double total = 0, sum = 0;
  for (const auto& [value, weight] : value_weight) total += weight;
  for (const auto& [value, weight] : value_weight)
    if ((sum += weight) >= p * total * (1 - 1e-12)) return value;
  return value_weight.empty() ? 0 : value_weight.back().first;
}

// The quantiles of all kinds but `without` (nullptr: of all), each kind weighing the same and each source within it.
Spread pooled(const ByKind& groups, const QuestionKind* without, double level) {
  std::vector<std::pair<double, double>> values;
  for (const auto& [kind, group] : groups) {
    if (without != nullptr && kind == *without) continue;
    const std::vector<double> weights = source_weights(group);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < group.size(); ++i) values.emplace_back(group[i]->log_ratio, weights[i] / total);
  }
  return held_open(weighted_quantile(values, (1 - level) / 2), weighted_quantile(values, (1 + level) / 2));
}

Spread pooled_spread(const ByKind& groups, double level) {
  const Spread all = pooled(groups, nullptr, level);
  if (groups.size() < 2) return all;
  std::vector<std::pair<double, double>> needed;
  for (const auto& [kind, group] : groups) {
    const Spread others = pooled(groups, &kind, level);
    for (const Residual* r : group) needed.emplace_back(needed_factor(r->log_ratio, others), 1.0 / static_cast<double>(group.size()));
  }
  const double factor = std::max(1.0, weighted_quantile(needed, level));
  return {all.low * factor, all.high * factor};
}

void cover(IntervalGroup& g, const Residuals& group) {
  g.low = g.high = group.front()->question.features;
  for (const Residual* r : group)
    for (std::size_t i = 0; i < g.low.size(); ++i) {
      g.low[i] = std::min(g.low[i], r->question.features[i]);
      g.high[i] = std::max(g.high[i], r->question.features[i]);
    }
}

// Growth that each point at one held-out end of a feature's range would have needed, beyond what the rest's spread gives it.
void needed_at_end(const Residuals& group, std::size_t feature, bool upper, double level, std::vector<std::pair<double, double>>& needed) {
  std::vector<double> values;
  for (const Residual* r : group) values.push_back(r->question.features[feature]);
  std::ranges::sort(values);
  const auto end = static_cast<std::size_t>(kHeldOutEnd * static_cast<double>(values.size()));
  const double bound = upper ? values[values.size() - 1 - end] : values[end];
  Residuals rest, held_out;
  for (const Residual* r : group) {
    const double x = r->question.features[feature];
    ((upper ? x > bound : x < bound) ? held_out : rest).push_back(r);
  }
  const auto spread = rest.empty() ? std::nullopt : own_spread(rest, level);
  if (!spread || held_out.empty()) return;
  IntervalGroup covered;
  cover(covered, rest);
  for (const Residual* r : held_out) {
    const double distance = scenarios::distance_beyond(r->question.features, covered.low, covered.high);
    const double excess = std::max(0.0, needed_factor(r->log_ratio, *spread) - 1);
    if (distance > 0) needed.emplace_back(excess / distance, 1.0 / static_cast<double>(held_out.size()));
  }
}

double extrapolation_rate_of(const ByKind& groups, double level) {
  std::vector<std::pair<double, double>> needed;
  for (const auto& [kind, group] : groups) {
    if (group.size() < kLeastForEnds) continue;
    for (std::size_t f = 0; f < scenarios::kFeatures.size(); ++f)
      for (const bool upper : {false, true}) needed_at_end(group, f, upper, level, needed);
  }
  return weighted_quantile(std::move(needed), level);
}

bool holds(const IntervalModel& model, const Residual& r) {
  if (model.groups.empty()) return false;
  const Spread s = scenarios::spread_for(model, r.question).spread;
  return s.low <= r.log_ratio && r.log_ratio <= s.high;
}

// A random half of every source, by Fisher-Yates: true = fits.
std::vector<bool> random_half(std::span<const Residual> residuals, base::Random& random) {
  std::map<std::string, std::vector<std::size_t>> by_source;
  for (std::size_t i = 0; i < residuals.size(); ++i) by_source[residuals[i].source].push_back(i);
  std::vector<bool> fits(residuals.size(), false);
  for (auto& [source, rows] : by_source) {
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
    for (std::size_t i = 0; i < (rows.size() + 1) / 2; ++i) fits[rows[i]] = true;
  }
  return fits;
}

struct Share {
  double held = 0, all = 0;
  void count(bool in) {
    held += in;
    all += 1;
  }
  [[nodiscard]] double value() const { return all > 0 ? held / all : 0; }
};

}  // namespace

TailQuantile conformal_quantile(std::span<const double> values, std::span<const double> weights, double a) {
  std::vector<std::pair<double, double>> sorted;
  double total = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sorted.emplace_back(values[i], weights[i]);
    total += weights[i];
    squares += weights[i] * weights[i];
  }
  if (sorted.empty()) return {};
  std::ranges::sort(sorted);
  const double n = total * total / squares;
  const double wanted = (n + 1) * (1 - a) / n;
  double sum = 0;
  for (const auto& [value, weight] : sorted)
    if ((sum += weight / total) >= wanted - 1e-9) return {value, true};
  return {sorted.back().first, false};
}

IntervalModel fit_intervals(std::span<const Residual> residuals, double level) {
  const ByKind kinds = by_kind(residuals);
  IntervalModel model;
  model.level = level;
  if (kinds.empty()) return model;
  model.pooled_spread = pooled_spread(kinds, level);
  model.extrapolation_rate = extrapolation_rate_of(kinds, level);
  for (const auto& [kind, group] : kinds) {
    IntervalGroup g;
    g.kind = kind;
    g.points = group.size();
    std::set<std::string> sources;
    for (const Residual* r : group) sources.insert(r->source);
    g.sources.assign(sources.begin(), sources.end());
    const auto own = own_spread(group, level);
    g.spread = own ? *own : widest(extremes(group), model.pooled_spread);
    cover(g, group);
    model.groups.push_back(std::move(g));
  }
  return model;
}

UnseenCoverage unseen_coverage(std::span<const Residual> residuals, std::uint64_t seed, double level) {
  UnseenCoverage result;
  base::Random random(seed);
  std::map<std::string, Share> halves;
  Share all;
  for (int split = 0; split < kSplits; ++split) {
    const std::vector<bool> fits = random_half(residuals, random);
    std::vector<Residual> half;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      if (fits[i]) half.push_back(residuals[i]);
    if (half.empty()) continue;
    const IntervalModel model = fit_intervals(half, level);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      if (fits[i]) continue;
      const bool in = holds(model, residuals[i]);
      halves[residuals[i].source].count(in);
      all.count(in);
    }
  }
  for (const auto& [source, share] : halves) result.split_half[source] = share.value();
  if (all.all > 0) result.split_half_mean = all.value();
  std::set<std::string> sources;
  for (const Residual& r : residuals) sources.insert(r.source);
  if (sources.size() < 2) return result;
  double sum = 0;
  for (const std::string& tested : sources) {
    std::vector<Residual> rest;
    for (const Residual& r : residuals)
      if (r.source != tested) rest.push_back(r);
    const IntervalModel model = fit_intervals(rest, level);
    Share share;
    for (const Residual& r : residuals)
      if (r.source == tested) share.count(holds(model, r));
    result.leave_one_group_out[tested] = share.value();
    sum += share.value();
  }
  result.leave_one_group_out_mean = sum / static_cast<double>(sources.size());
  return result;
}

}  // namespace calibration
