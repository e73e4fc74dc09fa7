#include "scenarios/capacity/goodput.hpp"

#include <cmath>

namespace scenarios {

base::Seconds checkpoint_interval(const FailureTimes& times) {
  const double m = times.mtbf.value(), d = times.checkpoint.value();
  const double x = d / (2 * m);
  return base::Seconds(x < 1 ? std::sqrt(2 * d * m) * (1 + std::sqrt(x) / 3 + x / 9) - d : m);
}

double goodput(const FailureTimes& times, base::Seconds interval) {
  const double m = times.mtbf.value();
  return interval.value() / (m * std::exp(times.restart.value() / m) * std::expm1((interval + times.checkpoint).value() / m));
}

}  // namespace scenarios
