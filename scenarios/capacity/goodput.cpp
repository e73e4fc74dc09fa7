#include "scenarios/capacity/goodput.hpp"

#include <algorithm>
#include <cmath>

namespace scenarios {

base::Seconds checkpoint_interval(const FailureTimes& times) {
  const double m = times.mtbf.value(), d = times.checkpoint.value();
  const double x = d / (2 * m);
  const double t = x < 1 ? std::sqrt(2 * d * m) * (1 + std::sqrt(x) / 3 + x / 9) - d : m;
  return base::Seconds(std::max(t, 1.0));
}

double goodput(const FailureTimes& times, base::Seconds interval) {
  const double m = times.mtbf.value();
  return interval.value() / (m * std::exp(times.restart.value() / m) * std::expm1((interval + times.checkpoint).value() / m));
}

}  // namespace scenarios
