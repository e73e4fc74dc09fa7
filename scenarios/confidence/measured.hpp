#pragma once
// Measured kernels and collectives, each with its forecast.

#include <vector>

#include "profiles/measured/measurements.hpp"
#include "scenarios/confidence/assessment.hpp"

namespace confidence {

// Returns an item per measurement, forecast by profiles::kernel_time and sim::plan_collective. Kernels are grouped by device, precision and
// kind, collectives by cluster, nodes, GPUs and kind, messages of 1 MB and more apart from smaller ones.
[[nodiscard]] std::vector<Item> items_of(const measured::Measurements& measured);

}  // namespace confidence
