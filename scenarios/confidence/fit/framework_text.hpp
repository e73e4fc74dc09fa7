#pragma once
// A framework profile's file with fitted constants in it. Text that people wrote stays as it is, comments included; above each fitted
// number stand the command that found it and the errors that it left.

#include <string>

#include "scenarios/confidence/fit/framework_fit.hpp"

namespace confidence {

// Returns a constant as a profile's file writes it: "74.5 us", "0.943".
[[nodiscard]] std::string constant_text(const std::string& constant, double value);

// Returns `text`, the file that the fit started from, with every constant that the points identify. A map in braces that gets one is
// written out, a key a line. `command` is what is named as the origin. Throws: base::InputError when `framework` itself is in braces.
[[nodiscard]] std::string with_fitted(std::string text, const FrameworkFit& fit, const std::string& command);

}  // namespace confidence
