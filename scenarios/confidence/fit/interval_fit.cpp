#include "scenarios/confidence/fit/interval_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace confidence {
namespace {

using scenarios::IntervalGroup;
using scenarios::IntervalModel;
using scenarios::Spread;

// The weight of a group is a power of its points: more points say more, but residuals of one group are alike. Left-out sources score alike,
// 0.635 to 0.640, with powers of 0.75 and 1, and worse with 0.5 (0.651).
constexpr double kWeightOfPoints = 0.75;
constexpr int kQuantiles = 20;       // of a group: enough for tails of 2.5 %
constexpr int kDescentRounds = 2;    // of the descent; the second rarely moves anything
constexpr double kLeastGain = 0.05;  // less is chance: the mean over 19 sources has a standard error of 13 %
// Steps that are tried, from the second: coarse ones, since 100 groups tell no finer ones apart. A group of other software
// keeps a tenth, a twentieth or a fiftieth of its weight, for each other feature all to a half, for each doubling all or a tenth or a fifth
// less; an iteration of one share alone multiplies spreads by 1 to 4.5. The second step holds where residuals tell no better.
using Steps = std::vector<double>;
const Steps kOtherSoftware = {0.1, 0.05, 0.02}, kOtherFeature = {1, 0.7, 0.5}, kPerDoubling = {1, 0.9, 0.8};
const std::array<Steps, scenarios::kShares.size()> kGrowth = {{{0, 0.75, 0.5, 1, 1.5}, {0, 0.5, 1}, {0.5, 1, 1.5}, {0.5, 1, 1.5}}};
constexpr int kTailSteps = 14;  // each a twentieth of the nominal tail

using GroupKey = std::tuple<std::string, scenarios::WorkloadKind, std::string>;  // source, kind, family
using ByGroup = std::map<GroupKey, std::vector<const Residual*>>;

// Quantiles at the middles of equal shares; between values they are interpolated (Hazen).
std::vector<double> quantiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  std::vector<double> quantiles;
  for (int k = 0; k < kQuantiles; ++k) {
    const double at = std::clamp(n * (k + 0.5) / kQuantiles - 0.5, 0.0, n - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    quantiles.push_back(values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]));
  }
  return quantiles;
}

std::vector<IntervalGroup> groups_without_quantiles(const ByGroup& groups) {
  std::vector<IntervalGroup> made;
  for (const auto& [key, members] : groups) {
    const auto& [source, kind, family] = key;
    const auto [least, most] = std::ranges::minmax(members, {}, [](const Residual* r) { return r->question.log2_parameters; });
    const double weight = std::pow(static_cast<double>(members.size()), kWeightOfPoints);
    const int gpus = std::ranges::max(members, {}, [](const Residual* r) { return r->question.gpus; })->question.gpus;
    made.push_back({source, kind, members.size(), least->question.log2_parameters, most->question.log2_parameters, weight, {}, gpus});
  }
  return made;
}

void set_quantiles(std::vector<IntervalGroup>& made, const ByGroup& groups, const scenarios::SpreadGrowth& growth) {
  std::size_t g = 0;
  for (const auto& [key, members] : groups) {
    std::vector<double> values;
    for (const Residual* r : members)  // whose software and network were measured: by themselves
      values.push_back(r->log_ratio / scenarios::scale_of(growth, scenarios::unsure_shares(r->question, {true, r->question.gpus})));
    made[g++].quantiles = quantiles_of(std::move(values));
  }
}

// Residuals that get the same weights: those of one group and size of model.
struct Case {
  std::vector<const Residual*> members;
  std::size_t source = 0;              // which of the sources
  scenarios::Differences differences;  // none where the same source published the group
  scenarios::Measured measured;        // by other sources
};

std::vector<Case> cases_of(const ByGroup& groups, const std::vector<IntervalGroup>& made) {
  std::map<std::pair<GroupKey, double>, Case> cases;
  std::map<std::string, std::size_t> sources;
  for (const auto& [key, members] : groups)
    for (const Residual* r : members) {
      cases[{key, r->question.log2_parameters}].members.push_back(r);
      sources.try_emplace(r->published_by(), sources.size());
    }
  std::vector<Case> all;
  for (auto& [key, c] : cases) {
    const Residual& first = *c.members.front();
    c.source = sources[first.published_by()];
    for (const auto& [other, members] : groups) {
      const bool is_out = members.front()->published_by() == first.published_by();
      const IntervalGroup& g = made[c.differences.size()];
      c.differences.push_back(is_out ? std::nullopt : std::optional(scenarios::difference_of(g, first.question)));
      if (!is_out) c.measured.add(g.kind, g.most_gpus, first.question.kind);
    }
    all.push_back(std::move(c));
  }
  return all;
}

// Returns the mean over publishers, which weigh as the root of their points, of the mean of a figure over the points of each, whose spreads
// are made without their publisher. nullopt: nothing remains.
template <class F>
std::optional<double> mean_over_sources(const IntervalModel& model, const std::vector<Case>& cases, F figure) {
  const scenarios::SortedQuantiles sorted(model.groups);
  std::map<std::size_t, std::pair<double, double>> sums;  // source -> sum, count
  for (const Case& c : cases) {
    const std::optional<Spread> s = scaled_spread(model, sorted, c.differences);
    if (!s) continue;
    for (const Residual* r : c.members) {
      const double scale = scenarios::scale_of(model.growth, scenarios::unsure_shares(r->question, c.measured));
      sums[c.source].first += figure(Spread{s->low * scale, s->high * scale}, r->log_ratio);
      sums[c.source].second += 1;
    }
  }
  double sum = 0, weight = 0;
  for (const auto& [source, of_source] : sums) {
    sum += of_source.first / std::sqrt(of_source.second);
    weight += std::sqrt(of_source.second);
  }
  return sums.empty() ? std::nullopt : std::optional(sum / weight);
}

// The widest tails with which nine in ten are inside.
void calibrate_tail(IntervalModel& model, const std::vector<Case>& cases) {
  const auto inside = [](Spread s, double log_ratio) { return s.low <= log_ratio && log_ratio <= s.high ? 1.0 : 0.0; };
  const double nominal = (1 - model.level) / 2;
  for (int step = 0; step <= kTailSteps; ++step) {
    model.tail = nominal * (1 - step / 20.0);
    if (mean_over_sources(model, cases, inside).value_or(1) >= model.level) return;
  }
}

// With the tail that the constants ask for.
double score_of(IntervalModel& model, const std::vector<Case>& cases) {
  calibrate_tail(model, cases);
  const auto score = [&](Spread s, double log_ratio) { return interval_score(s, log_ratio, model.level); };
  return mean_over_sources(model, cases, score).value_or(0);
}

// One coordinate of the descent.
void improve(IntervalModel& model, double& at, const Steps& steps, double& least, auto score) {
  double best = at;
  const double bound = least * (1 - kLeastGain);
  double found = bound;
  for (const double step : steps) {
    at = step;
    if (const double s = score(model); s < found) {
      found = s;
      best = step;
    }
  }
  at = best;
  if (found < bound) least = found;
}

void descend(IntervalModel& model, const ByGroup& groups, const std::vector<Case>& cases) {
  const auto score = [&](IntervalModel& m) { return score_of(m, cases); };
  const auto scaled_anew = [&](IntervalModel& m) {
    set_quantiles(m.groups, groups, m.growth);
    return score_of(m, cases);
  };
  double least = scaled_anew(model);
  for (int round = 0; round < kDescentRounds; ++round) {
    for (std::size_t i = 0; i < kGrowth.size(); ++i) improve(model, model.growth.rate[i], kGrowth[i], least, scaled_anew);
    set_quantiles(model.groups, groups, model.growth);
    improve(model, model.similarity.other_software, kOtherSoftware, least, score);
    improve(model, model.similarity.other_feature, kOtherFeature, least, score);
    improve(model, model.similarity.per_doubling, kPerDoubling, least, score);
  }
}

}  // namespace

double interval_score(Spread s, double log_ratio, double level) {
  return s.high - s.low + 2 / (1 - level) * (std::max(0.0, s.low - log_ratio) + std::max(0.0, log_ratio - s.high));
}

IntervalModel fit_intervals(std::span<const Residual> residuals, double level) {
  IntervalModel model;
  model.level = level;
  model.tail = (1 - level) / 2;
  model.similarity = {kOtherSoftware[1], kOtherFeature[1], kPerDoubling[1]};
  for (std::size_t i = 0; i < kGrowth.size(); ++i) model.growth.rate[i] = kGrowth[i][1];
  if (residuals.size() < kLeastResiduals) return model;
  ByGroup groups;
  for (const Residual& r : residuals) groups[{r.source, r.question.kind, r.family}].push_back(&r);
  model.groups = groups_without_quantiles(groups);
  const std::vector<Case> cases = cases_of(groups, model.groups);
  descend(model, groups, cases);
  calibrate_tail(model, cases);
  return model;
}

}  // namespace confidence
