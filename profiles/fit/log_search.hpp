#pragma once
// A local search for the positive parameters of a model with the least cost, in their logarithms.

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

}  // namespace fit
