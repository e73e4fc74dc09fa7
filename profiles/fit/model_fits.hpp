#pragma once
// Fits of single models to measured rows: the tile model of products and the smooth correction of what it leaves over, attention, and
// rates of kernels that are bound by memory. Below: their robust losses.

#include <cmath>
#include <span>

#include "profiles/fitted.hpp"
#include "profiles/models/product_model.hpp"

namespace fit {

struct ProductRow {
  profiles::ProductDevice device;  // of the row's own device
  profiles::ProductSizes sizes;
  double seconds = 0;
};

// Returns the parameters with the least robust error (Huber, in the logarithm of time; a row that is far off counts by its distance only)
// that a local search from two starts finds on at most 1,200 evenly taken rows. Deterministic.
// Requires: rows are not empty.
// Cost: seconds for thousands of rows.
[[nodiscard]] profiles::ProductModel fit_product_model(std::span<const ProductRow> rows);

// Returns the seconds that a profile with these parameters and this correction forecasts.
[[nodiscard]] double predict(pcg::KernelKind kind, const profiles::ProductModel& model, const profiles::LogGrid& correction,
                             const ProductRow& row);

// Fits profiles::AttentionModel to measured kernels of one pass.
struct AttentionRow {
  double peak = 1;  // FLOP/s that the data sheet of the row's device promises
  pcg::Kernel kernel;
  double seconds = 0;
};

// Returns the model with the least robust error in the logarithm of time.
// Requires: rows are not empty.
[[nodiscard]] profiles::AttentionModel fit_attention(std::span<const AttentionRow> rows);
[[nodiscard]] double predict(const profiles::AttentionModel& model, const AttentionRow& row);

// Fits the share of the memory bandwidth that a kind of memory-bound kernel reaches:  seconds = (bytes + half) / (bandwidth * max).
struct RateRow {
  double bandwidth = 1;  // bytes/s that the data sheet of the row's device promises
  double bytes = 0;
  double seconds = 0;
};

// Returns the share with the least robust error in the logarithm of time.
// Requires: rows are not empty. `max` is at most 1.
[[nodiscard]] profiles::Efficiency fit_rate(std::span<const RateRow> rows);
[[nodiscard]] double predict(const profiles::Efficiency& e, const RateRow& row);

// Fits the smooth correction of a product model: least squares on a grid over the logarithms of sizes, weighted again and again against
// outliers, with curvature punished.
// Returns a grid with nodes two to twenty doublings apart, the fewer rows the farther, over the range of the rows, as smooth as pays on
// held-out rows, and such that doubling one size of a product takes hardly less time. The grid has no values where there are
// too few rows, and where no correction is better on rows kept aside.
// Requires: rows are not empty.
[[nodiscard]] profiles::LogGrid fit_correction(pcg::KernelKind kind, const profiles::ProductModel& model, std::span<const ProductRow> rows);

// Robust losses: outliers of measured tables (a cold clock, a busy machine) must not bend a fit.
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
