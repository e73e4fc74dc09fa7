#pragma once
// Robust losses: outliers of measured tables (a cold clock, a busy machine) must not bend a fit.

#include <cmath>

namespace fit {

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
