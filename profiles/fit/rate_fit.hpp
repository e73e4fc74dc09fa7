#pragma once
// Fits the share of the memory bandwidth that a kind of memory-bound kernel reaches:  seconds = (bytes + half) / (bandwidth * max).

#include <span>

#include "profiles/fitted.hpp"

namespace fit {

struct RateRow {
  double bandwidth = 1;  // bytes/s that the data sheet of the row's device promises
  double bytes = 0;
  double seconds = 0;
};

// Returns the share with the least robust error in the logarithm of time. Requires: rows are not empty. `max` is at most 1.
[[nodiscard]] profiles::Efficiency fit_rate(std::span<const RateRow> rows);
[[nodiscard]] double predict(const profiles::Efficiency& e, const RateRow& row);

}  // namespace fit
