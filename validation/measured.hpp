#pragma once
// Measured kernels and collectives, each with its forecast.

#include <vector>

#include "measurements/measurements.hpp"
#include "validation/assessment.hpp"

namespace validation {

// Returns an item per measurement, forecast by profiles::kernel_time and sim::plan_collective. Kernels are grouped by device, precision and
// kind, collectives by cluster, nodes, GPUs and kind, messages of 1 MB and more apart from smaller ones.
[[nodiscard]] std::vector<Item> items_of(const measurements::Measurements& measured);

}  // namespace validation
