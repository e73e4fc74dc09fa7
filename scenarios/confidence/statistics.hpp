#pragma once
// How good predictions are: plain functions of measured and predicted values. Errors are relative, predicted / measured - 1.

#include <cstddef>
#include <span>
#include <vector>

namespace confidence {

// A value that was measured, above 0, and what was predicted for it.
struct Pair {
  double measured = 0, predicted = 0;
};

struct ErrorStatistics {
  std::size_t n = 0;
  double mean = 0, median = 0;  // of |predicted / measured - 1|
  double bias = 0;              // exp(mean of ln(predicted / measured)) - 1: above 0 forecasts are too long
  double tau = 0;               // Kendall's: Order::tau
};
// Requires: every value is above 0. O(n^2) for tau.
[[nodiscard]] ErrorStatistics error_statistics(std::span<const Pair> pairs);

// Pairs that forecasts order as the measurements do, and those that they order the other way round. Pairs that agree in either value say
// nothing about order, so they count on neither side (Goodman and Kruskal's gamma where there are ties; without ties this is Kendall's
// tau).
struct Order {
  std::size_t same = 0, opposite = 0;
  Order& operator+=(const Order& o);
  // Returns (same - opposite) / (same + opposite), 1 where every two are ordered rightly; 0 where no two values differ.
  [[nodiscard]] double tau() const;
};
// Counts pairs whose measured values differ by more than `apart` of the smaller. Cost: O(n^2).
[[nodiscard]] Order order_of(std::span<const Pair> pairs, double apart = 0);

// Returns the mean of the middle two when their number is even, 0 when there are none.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace confidence
