#pragma once
// Fits of device and framework profiles, and errors of a network profile, as text for people and as JSON.

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

// Returns rows, mean absolute error and bias from 1 MB on, of the rows of these that were kept aside, and below 1 MB; and that as text.
// `network` is the profile's name or file. Errors by cluster and row: foreshard validate.
[[nodiscard]] nlohmann::ordered_json network_fit_json(const std::string& network, std::span<const fit::NetworkResidual> residuals);
[[nodiscard]] std::string network_fit_text(const nlohmann::ordered_json& fit);

}  // namespace reports
