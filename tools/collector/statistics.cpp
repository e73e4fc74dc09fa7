#include "tools/collector/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace collector {
namespace {

double median_distance(const std::vector<double>& samples, double middle) {
  std::vector<double> distances;
  for (const double s : samples) distances.push_back(std::abs(s - middle));
  std::sort(distances.begin(), distances.end());
  return quantile(distances, 0.5);
}

}  // namespace

double quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

Summary summarise(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double middle = quantile(samples, 0.5);
  // 1.4826 turns a median absolute deviation into a standard deviation. The 1 % keeps samples of a clock that ticks coarsely, whose
  // deviation is 0.
  const double allowed = 5 * 1.4826 * median_distance(samples, middle) + 0.01 * std::abs(middle);
  std::vector<double> kept;
  for (const double s : samples)
    if (std::abs(s - middle) <= allowed) kept.push_back(s);
  return {.median = quantile(kept, 0.5),
          .spread = quantile(kept, 0.75) - quantile(kept, 0.25),
          .kept = static_cast<int>(kept.size()),
          .rejected = static_cast<int>(samples.size() - kept.size())};
}

}  // namespace collector
