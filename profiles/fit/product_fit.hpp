#pragma once
// Fits the tile model of products (profiles/models/product_model.hpp). profiles/fit/correction_fit.hpp takes up what it leaves over.

#include <span>
#include <vector>

#include "profiles/fitted.hpp"

namespace fit {

struct ProductRow {
  profiles::ProductDevice device;  // of the row's own device
  profiles::ProductSizes sizes;
  double seconds = 0;
};

// Returns the parameters with the least robust error (Huber, in the logarithm of time; a row that is far off counts by its distance only)
// that a local search from two starts finds on at most 1,200 evenly taken rows. Deterministic. Requires: rows are not empty. Cost: seconds
// for thousands of rows.
[[nodiscard]] profiles::ProductModel fit_product_model(std::span<const ProductRow> rows);

// Returns the seconds that a profile with these parameters and this correction forecasts.
[[nodiscard]] double predict(pcg::KernelKind kind, const profiles::ProductModel& model, const profiles::LogGrid& correction,
                             const ProductRow& row);

}  // namespace fit
