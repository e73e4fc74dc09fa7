#include "profiles/fit/model_fits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "profiles/fit/log_search.hpp"

namespace fit {
namespace {

constexpr int kSteps = 400;              // of `half`, evenly in its logarithm
constexpr double kShortestHalfS = 1e-8;  // what the bandwidth moves in `half`: from 10 ns
constexpr double kLongestHalfS = 1e-3;   // to a millisecond

// The best `max` for a given `half` shifts every error alike: the median of the errors has to be 0.
profiles::Efficiency with_half(std::span<const RateRow> rows, double half_s, double bandwidth) {
  std::vector<double> shares;
  for (const RateRow& r : rows) shares.push_back((r.bytes / r.bandwidth + half_s) / r.seconds);
  std::ranges::nth_element(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
  return {std::min(shares[shares.size() / 2], 1.0), half_s * bandwidth};
}

}  // namespace

double predict(const profiles::Efficiency& e, const RateRow& row) { return (row.bytes + e.half) / (row.bandwidth * e.max); }

profiles::Efficiency fit_rate(std::span<const RateRow> rows) {
  profiles::Efficiency best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kSteps; ++i) {
    const double half_s = kShortestHalfS * std::pow(kLongestHalfS / kShortestHalfS, static_cast<double>(i) / kSteps);
    const profiles::Efficiency e = with_half(rows, half_s, rows.front().bandwidth);
    double cost = 0;
    for (const RateRow& r : rows) cost += huber(std::log(predict(e, r) / r.seconds));
    if (cost < least) {
      least = cost;
      best = e;
    }
  }
  return best;
}

}  // namespace fit
