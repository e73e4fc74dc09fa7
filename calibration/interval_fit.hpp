#pragma once
// Makes the interval model (scenarios/interval.hpp) from residuals, and holds it against residuals that it has not seen.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scenarios/accuracy/interval.hpp"

namespace calibration {

// How far one forecast was off.
struct Residual {
  scenarios::Question question;
  std::string source;    // the group of measurements that the point belongs to
  double log_ratio = 0;  // ln(measured / predicted)
};

// Conformal quantiles of weighted values, one tail: the smallest value that at least p of the weight does not exceed, where
// p = (n + 1)(1 - a) / n with n the effective number 1 / sum of squared shares. For equal weights it is the k-th smallest,
// k = ceil((n + 1)(1 - a)) (Vovk et al., "Algorithmic learning in a random world", 2005). Values and weights: same length, weights > 0.
struct TailQuantile {
  double value = 0;
  bool enough = false;  // false: p > 1, so few values promise nothing, and `value` is the largest
};
[[nodiscard]] TailQuantile conformal_quantile(std::span<const double> values, std::span<const double> weights, double a);

// Per kind of question, sources weighing as the root of their number of points: the two tails' quantiles at (1 - level) / 2 each; with
// too few points for that, the quantile of |log ratio|, and with too few for that too, at least the spread of questions unlike any.
// unlike_any: quantiles of all kinds but one, kinds weighing the same, times the factor that makes them hold `level` of the kind left
// out, on average over kinds. growth: the ends of each range are held out in turn, and it is what `level` of those points need.
// Kinds with one point have no group. Deterministic; O(n log n x features).
[[nodiscard]] scenarios::IntervalModel fit_intervals(std::span<const Residual> residuals, double level = 0.9);

// Shares of points that the interval held although the fit had not seen them.
struct HeldOutCoverage {
  std::map<std::string, double> halves;       // by source: a random half of every source fits, the other is tested; mean of 20 splits
  std::map<std::string, double> left_out;     // by source: everything else fits
  double halves_mean = 0, left_out_mean = 0;  // over points; over sources
};
[[nodiscard]] HeldOutCoverage held_out_coverage(std::span<const Residual> residuals, std::uint64_t seed, double level = 0.9);

}  // namespace calibration
