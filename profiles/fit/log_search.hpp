#pragma once
// A local search for the positive parameters of a model with the least cost, in their logarithms.

#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace fit {

struct LogRange {
  double least, most;
};

struct LogFound {
  std::vector<double> values;  // one per range
  double cost = 0;
};

// Returns where Subplex (Rowan 1990) ends that starts at `start`, put into the ranges. Deterministic. Requires: a range per value, bounds
// above 0. Cost: at most 2,500 calls.
[[nodiscard]] LogFound least_in_logarithms(std::span<const double> start, std::span<const LogRange> ranges,
                                           const std::function<double(std::span<const double>)>& cost);

// Robust losses: outliers of measured tables (a cold clock, a busy machine) must not bend a fit.

inline constexpr double kUsualError = 0.05;  // in the logarithm of time: below it errors count by their square, above by their size

[[nodiscard]] inline double huber(double error) {
  const double e = std::abs(error);
  return e < kUsualError ? e * e / (2 * kUsualError) : e - kUsualError / 2;
}
// Returns the weight of an error in least squares that are weighted again and again until they minimise huber().
[[nodiscard]] inline double huber_weight(double error) {
  const double e = std::abs(error);
  return e < kUsualError ? 1 : kUsualError / e;
}

}  // namespace fit
