#pragma once
// A summary of repeated timings: the median of those that are no outliers, and how far apart the middle half lies.

#include <vector>

namespace collector {

struct Summary {
  double median = 0;  // seconds, as the samples
  double spread = 0;  // third quartile minus first quartile, seconds
  int kept = 0;       // samples that count
  int rejected = 0;   // samples further than 5 scaled median absolute deviations (and 1 %) from the median: an interrupt, a clock change
};
// The p-quantile, 0 <= p <= 1, of sorted samples, linear between neighbours. Requires: not empty.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double p);
// Requires: no NaN. All zero without samples.
[[nodiscard]] Summary summarise(std::vector<double> samples);

}  // namespace collector
