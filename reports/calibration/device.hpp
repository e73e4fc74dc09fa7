#pragma once
// The fits of a device profile as text for people and as JSON.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "profiles/fit/kernel_calibration.hpp"

namespace reports {

// Returns a line per kind and precision, errors as means of |predicted / measured - 1|, each followed by its worst rows.
[[nodiscard]] std::string fits_text(std::span<const fit::KernelFit> fits);
// Returns a list of objects, one per kind and precision.
[[nodiscard]] nlohmann::ordered_json fits_json(std::span<const fit::KernelFit> fits);

}  // namespace reports
