#pragma once
// The part `fitted:` of a device profile as text: `foreshard calibrate` writes it, a profile's loader reads it back.

#include <string>

#include "base/yaml/tree.hpp"
#include "profiles/fitted.hpp"

namespace profiles {

// Reads the map at "device.fitted". Problems go to `sink`.
[[nodiscard]] Fitted read_fitted(const base::Yaml& node, base::Diagnostics& sink);
// Returns the map as text, two blanks deep under "  fitted:"; read_fitted reads it back.
[[nodiscard]] std::string to_text(const Fitted& f);

}  // namespace profiles
