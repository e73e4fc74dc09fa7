#pragma once
// A device profile's file with fitted models in it. Text that people wrote stays as it is, comments included; fitted models follow it.

#include <string>

#include "profiles/fitted.hpp"

namespace fit {

// Returns `profile` with its part `fitted:` (always the last one) replaced by `fitted`; keys behind it are lost.
// Throws: base::InputError when the text is no YAML or `device` is written in braces.
[[nodiscard]] std::string with_fitted(const std::string& profile, const profiles::Fitted& fitted);

}  // namespace fit
