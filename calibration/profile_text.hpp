#pragma once
// Device profiles as text: what people wrote stays as it is, comments included, and what calibration found goes behind it.

#include <string>

#include "profiles/fitted.hpp"

namespace calibration {

// `profile` with its part `fitted:` (always the last one) replaced by `fitted`.
[[nodiscard]] std::string with_fitted(const std::string& profile, const profiles::Fitted& fitted);

}  // namespace calibration
