#pragma once
// Fits the tile model of products (profiles/product_model.hpp), then the smooth correction that takes up what it leaves over.

#include <span>
#include <vector>

#include "profiles/fitted.hpp"

namespace calibration {

struct ProductRow {
  profiles::ProductDevice device;  // of the row's own device
  profiles::ProductSizes sizes;
  double seconds = 0;
};

// The parameters with the least robust error (Huber, in the logarithm of time): a row that is far off counts by its distance only.
// Deterministic. Requires: rows are not empty. Cost: seconds for thousands of rows.
[[nodiscard]] profiles::ProductModel fit_product_model(std::span<const ProductRow> rows);

// A grid with nodes about two doublings apart over the range of the rows, smooth as far as rows kept aside in turn say that it pays, and
// such that doubling one size of a product takes hardly less time. No values where there are too few rows to say.
[[nodiscard]] profiles::LogGrid fit_correction(pcg::KernelKind kind, const profiles::ProductModel& model, std::span<const ProductRow> rows);

// What a profile with these would say, in seconds.
[[nodiscard]] double predict(pcg::KernelKind kind, const profiles::ProductModel& model, const profiles::LogGrid& correction,
                             const ProductRow& row);

}  // namespace calibration
