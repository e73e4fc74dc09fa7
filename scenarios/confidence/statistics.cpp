#include "scenarios/confidence/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace confidence {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Order& Order::operator+=(const Order& o) {
  same += o.same;
  opposite += o.opposite;
  return *this;
}

double Order::tau() const {
  return same + opposite == 0 ? 0 : (static_cast<double>(same) - static_cast<double>(opposite)) / static_cast<double>(same + opposite);
}

Order order_of(std::span<const Pair> pairs, double apart) {
  Order order;
  for (std::size_t a = 0; a < pairs.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const auto [less, more] = std::minmax(pairs[a].measured, pairs[b].measured);
      if (more <= (1 + apart) * less) continue;
      const double s = (pairs[a].measured - pairs[b].measured) * (pairs[a].predicted - pairs[b].predicted);
      order.same += s > 0;
      order.opposite += s < 0;
    }
  return order;
}

ErrorStatistics error_statistics(std::span<const Pair> pairs) {
  ErrorStatistics e;
  e.n = pairs.size();
  if (pairs.empty()) return e;
  std::vector<double> errors;
  double sum = 0, log_sum = 0;
  for (const Pair& p : pairs) {
    errors.push_back(std::abs(p.predicted / p.measured - 1));
    sum += errors.back();
    log_sum += std::log(p.predicted / p.measured);
  }
  const auto n = static_cast<double>(pairs.size());
  e.mean = sum / n;
  e.median = median(std::move(errors));
  // The mean of ratios would call forecasts that are off by 2 and by 1/2 too long; the geometric mean calls them unbiased.
  e.bias = std::exp(log_sum / n) - 1;
  e.tau = order_of(pairs).tau();
  return e;
}

}  // namespace confidence
