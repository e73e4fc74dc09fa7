#pragma once
// The residuals of a network profile as text for people and as JSON.

#include <span>
#include <string>

#include "profiles/fit/network_fit.hpp"

namespace reports {

// Returns a line per cluster, nodes, GPUs, collective and table, and one for all: rows, mean absolute error and bias from 1 MB on, the same
// of the rows kept aside, and the same below 1 MB.
[[nodiscard]] std::string residuals_text(std::span<const fit::NetworkResidual> residuals);
// Returns every row with its forecast. `network` is the profile's name or file.
[[nodiscard]] std::string residuals_json(const std::string& network, std::span<const fit::NetworkResidual> residuals);

}  // namespace reports
