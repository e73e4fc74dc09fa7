#pragma once
// Makes the interval model (scenarios/intervals/interval.hpp) from residuals: its few constants are those with which intervals made without
// who published a point have the least interval score. Coverage of what was left out: unseen_coverage().

#include <map>
#include <optional>
#include <span>
#include <string>

#include "scenarios/intervals/interval.hpp"

namespace confidence {

// How far one forecast was off.
struct Residual {
  scenarios::Workload question;
  std::string source;    // the group of measurements that the point belongs to
  std::string family;    // of its model: scenarios/confidence/iteration_facts.hpp
  double log_ratio = 0;  // ln(measured / predicted)
  // What pairs go by (pair_fit.hpp).
  scenarios::ForecastFacts facts;
  std::string publication;
  // Who published it; the group, where that is not known.
  [[nodiscard]] const std::string& published_by() const { return publication.empty() ? source : publication; }
};

// With fewer residuals a tail of 5 % is less than one of them: no model is made.
inline constexpr std::size_t kLeastResiduals = 20;

// Returns the interval score of a spread for a residual: its width and, where it misses, 2 / (1 - level) times by how much. Of all spreads
// the true quantiles have the least on average (Gneiting and Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007,
// section 6.2; Winkler 1972).
[[nodiscard]] double interval_score(scenarios::Spread s, double log_ratio, double level);

// Returns the model that residuals give; without groups where there are fewer than kLeastResiduals.
// Groups: the residuals of one table, kind and family, as twenty quantiles of scaled residuals. More points weigh more, but less than in
//   proportion.
// Similarity, growth: coordinate descent over a few steps each, from the second, to the least score of spreads that are made without the
//   point's publisher, on average over publishers, which weigh as the root of their points. A step that gains less than 5 % is not taken.
// Tail: the largest, up to (1 - level) / 2, with which these spreads hold `level` of the points, on the same average.
// Deterministic. Cost: O(points x groups) per step of the descent; 0.5 s for 20 publishers and 100 groups.
[[nodiscard]] scenarios::IntervalModel fit_intervals(std::span<const Residual> residuals, double level = 0.9);

// Interval models held against points that the whole fit, its constants too, had not seen: left out whole, by who published them, their
// framework, GPU generation or family of models: means over these points.
struct LeftOutFigures {
  std::string by, name;  // "source", "framework", "machine" or "family"; which
  std::size_t points = 0;
  double mean_error = 0;  // of |predicted / measured - 1|
  double inside = 0, width = 0, score = 0;
};

struct UnseenCoverage {
  std::vector<LeftOutFigures> left_out;    // none where too few residuals remain, or there is nothing else to make intervals from
  std::map<std::string, double> by_group;  // the share inside, of each group of measurements, with its source left out
};
// Cost: a fit per publisher, framework, machine and family.
[[nodiscard]] UnseenCoverage unseen_coverage(std::span<const Residual> residuals, double level = 0.9);

}  // namespace confidence
