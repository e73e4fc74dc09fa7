#include "scenarios/intervals/pairs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/check.hpp"

namespace scenarios {
namespace {

constexpr double kMostPairSpread = 10;  // as of log ratios in interval.cpp
constexpr double kMostPairGrowth = 5;
constexpr const char* kGrowthKey = "growth";
constexpr double kLeastShare = 1e-6;  // of a link that carries bytes, and that nothing waits for

// How much of the time hangs on the parts of the machine that differ: all of it, but for links. 0: none differs that is used. Parts that
// one of the two lacks are compared with nothing.
double share_of_other_parts(const ForecastFacts& a, const ForecastFacts& b) {
  const auto part_of = [](const ForecastFacts& f, const std::string& name) {
    const auto at = f.machine.find(name);
    return at == f.machine.end() ? std::string() : at->second;
  };
  double share = 0;
  const auto look = [&](const auto& part) {
    if (part_of(a, part.first) == part_of(b, part.first)) return;
    if (!part.first.starts_with(kLinkPart)) share = 1;
    const std::string type = part.first.substr(std::min(part.first.size(), kLinkPart.size()));
    for (const ForecastFacts* f : {&a, &b})
      if (const auto at = f->links.find(type); at != f->links.end()) share = std::max({share, at->second, kLeastShare});
  };
  std::ranges::for_each(a.machine, look);
  std::ranges::for_each(b.machine, look);
  return share;
}

double spread_of(const PairModel& model, const Changes& changes, const ForecastFacts& a, const ForecastFacts& b) {
  const double most = std::max(kLeastPairSpread, std::hypot(a.spread, b.spread));
  if (changes.other) return most;
  double squares = 0;
  for (std::size_t kind = 0; kind < changes.kinds.size(); ++kind) {
    if (!changes.kinds[kind]) continue;
    if (model.spread[kind] <= 0) return most;
    const double share = kind == static_cast<std::size_t>(Change::machine) ? std::min(1.0, share_of_other_parts(a, b)) : 1;
    squares += share * share * model.spread[kind] * model.spread[kind];
  }
  // What only one of the two assumes is not shared.
  const double growth = model.growth * shares_apart(a, b) + std::abs(a.unmeasured - b.unmeasured);
  return std::clamp(std::sqrt(squares) * std::exp(growth), kLeastPairSpread, most);
}

double normal_share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

int Changes::count() const { return static_cast<int>(std::ranges::count(kinds, true)); }
bool Changes::any() const { return other || count() > 0; }

Changes changes_between(const ForecastFacts& a, const ForecastFacts& b) {
  Changes c;
  c.kinds = {a.plan != b.plan, a.gpus != b.gpus || a.samples != b.samples, a.precision != b.precision, share_of_other_parts(a, b) > 0};
  c.other = a.work != b.work;
  return c;
}

double shares_apart(const ForecastFacts& a, const ForecastFacts& b) {
  return std::transform_reduce(a.shares.begin(), a.shares.end(), b.shares.begin(), 0.0, std::plus<>(),
                               [](double x, double y) { return std::abs(x - y); });
}

Speedup speedup_interval(const PairModel& model, const ForecastFacts& a, const ForecastFacts& b, double ratio) {
  Changes changes = changes_between(a, b);
  if (!changes.any() && ratio == 1) return {};
  if (!changes.any()) changes.kinds[static_cast<std::size_t>(Change::plan)] = true;
  const double spread = spread_of(model, changes, a, b);
  return {ratio, ratio * std::exp(-spread), ratio * std::exp(spread)};
}

// The error of the quickest is z, in its deviations; each rival is slower with Phi((behind / deviation of the quickest - z) x that / its
// own). The quickest's deviation is the half of its closest pair's; a rival has what its pair leaves.
double probability_of_best(std::span<const Rival> rivals, double level) {
  if (rivals.empty()) return 1;
  const double z_of_level = std::numbers::sqrt2 * boost::math::erf_inv(level);  // deviations that `level` of all errors lie within
  const double own = std::ranges::min(rivals, {}, &Rival::spread).spread / (z_of_level * std::numbers::sqrt2);
  BASE_CHECK(own > 0, "a pair of plans that differ has a spread");
  constexpr double kEnd = 8, kStep = 0.01;  // beyond the end lie 1e-15 of a normal variable
  constexpr int kSteps = static_cast<int>(2 * kEnd / kStep);
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kEnd + i * kStep;
    double slower = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) * kStep;
    for (const Rival& r : rivals) {
      const double of_pair = r.spread / z_of_level, of_rival = std::sqrt(of_pair * of_pair - own * own);
      slower *= normal_share_below((r.behind - own * z) / of_rival);
    }
    sum += slower;
  }
  return sum;
}

PairModel read_pairs(base::MapReader& accuracy, double level) {
  PairModel model{.level = level};
  const base::Yaml* section = accuracy.optional("pairs");
  if (section == nullptr) return model;
  base::MapReader in(*section, accuracy.path_of("pairs"), accuracy.sink());
  in.require(kGrowthKey);
  model.growth = in.number(kGrowthKey, 0, kMostPairGrowth).value_or(0);
  for (std::size_t kind = 0; kind < kChangeNames.size(); ++kind) {
    in.require(kChangeNames[kind]);
    model.spread[kind] = in.number(kChangeNames[kind], 0, kMostPairSpread).value_or(0);
  }
  in.finish();
  return model;
}

std::string pairs_text(const PairModel& model) {
  if (std::ranges::all_of(model.spread, [](double s) { return s == 0; })) return "";
  std::string text = fmt::format(
      "  # Ratios of two forecasts: the spread of |ln(measured / predicted)| by what differs (0: no pairs), times e^(growth x difference "
      "of shares).\n  pairs: {{{}: {:.4g}",
      kGrowthKey, model.growth);
  for (std::size_t kind = 0; kind < kChangeNames.size(); ++kind)
    text += fmt::format(", {}: {:.4g}", kChangeNames[kind], model.spread[kind]);
  return text + "}\n";
}

}  // namespace scenarios
