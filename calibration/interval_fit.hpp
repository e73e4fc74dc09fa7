#pragma once
// Makes the interval model (scenarios/accuracy/interval.hpp) from residuals, and holds it against residuals that it has not seen.

#include <cstdint>
#include <map>
#include <optional>
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

// Returns the conformal quantile of weighted values, one tail: the smallest value that at least p of the weight does not exceed, where
// p = (n + 1)(1 - a) / n with n the effective number 1 / sum of squared shares. For equal weights it is the k-th smallest,
// k = ceil((n + 1)(1 - a)) (Vovk et al., "Algorithmic learning in a random world", 2005). Values and weights: same length, weights > 0.
struct TailQuantile {
  double value = 0;
  bool enough = false;  // false: p > 1, so few values promise nothing, and `value` is the largest
};
[[nodiscard]] TailQuantile conformal_quantile(std::span<const double> values, std::span<const double> weights, double a);

// Returns the model that residuals give:
// Spread of a kind: the two tails' quantiles at (1 - level) / 2 each, each source weighing as the root of its number of points; with too
//   few points for that, the quantile of |log ratio|; with too few for that too, at least the pooled spread.
// Pooled spread: the quantiles over all kinds, each kind weighing the same, times the factor with which, on average over kinds, the
//   quantiles of the other kinds hold `level` of a kind (leave-one-group-out).
// Extrapolation rate: each end of each feature's range is held out in turn; the rate is the one that `level` of the held-out points need.
// Kinds with one point have no group. Deterministic. Cost: O(n log n x features).
[[nodiscard]] scenarios::IntervalModel fit_intervals(std::span<const Residual> residuals, double level = 0.9);

// Shares of points that the interval held although the fit had not seen them.
struct UnseenCoverage {
  std::map<std::string, double> split_half;  // by source: a random half of every source fits, the other is tested; mean of 20 splits
  std::map<std::string, double> leave_one_group_out;  // by source: all other sources fit
  // Over points; over sources. nullopt: there is no half, or no other source, to make intervals from.
  std::optional<double> split_half_mean, leave_one_group_out_mean;
};
[[nodiscard]] UnseenCoverage unseen_coverage(std::span<const Residual> residuals, std::uint64_t seed, double level = 0.9);

}  // namespace calibration
