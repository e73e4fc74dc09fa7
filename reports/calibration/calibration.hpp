#pragma once
// Fits of device and framework profiles, and residuals of a network profile, as text for people and as JSON.

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

#include "profiles/fit/kernel_calibration.hpp"
#include "profiles/fit/network_fit.hpp"
#include "scenarios/confidence/fit/framework_fit.hpp"

namespace reports {

// Returns a line per kind and precision, errors as means of |predicted / measured - 1|, each followed by its worst rows.
[[nodiscard]] std::string fits_text(std::span<const fit::KernelFit> fits);
// Returns a list of objects, one per kind and precision.
[[nodiscard]] nlohmann::ordered_json fits_json(std::span<const fit::KernelFit> fits);

// Returns a line of errors, before and after, and one per constant.
[[nodiscard]] std::string framework_fit_text(const std::string& framework, const confidence::FrameworkFit& fit);
[[nodiscard]] std::string framework_fit_json(const std::string& framework, const confidence::FrameworkFit& fit);

// Returns a line per cluster, nodes, GPUs, collective and table, and one for all: rows, mean absolute error and bias from 1 MB on, the same
// of the rows kept aside, and the same below 1 MB.
[[nodiscard]] std::string residuals_text(std::span<const fit::NetworkResidual> residuals);
// Returns every row with its forecast. `network` is the profile's name or file.
[[nodiscard]] std::string residuals_json(const std::string& network, std::span<const fit::NetworkResidual> residuals);

}  // namespace reports
