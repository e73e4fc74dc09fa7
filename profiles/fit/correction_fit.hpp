#pragma once
// Fits the smooth correction of a product model: least squares on a grid over the logarithms of sizes, weighted again and again against
// outliers, with curvature punished.

#include <span>

#include "profiles/fit/product_fit.hpp"

namespace fit {

// Returns a grid with nodes two to twenty doublings apart, the fewer rows the farther, over the range of the rows, as smooth as rows kept
// aside in turn show to pay, and such that doubling one size of a product takes hardly less time. The grid has no values where there are
// too few rows, and where no correction is better on rows kept aside. Requires: rows are not empty.
[[nodiscard]] profiles::LogGrid fit_correction(pcg::KernelKind kind, const profiles::ProductModel& model, std::span<const ProductRow> rows);

}  // namespace fit
