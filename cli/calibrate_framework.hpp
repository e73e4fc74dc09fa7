#pragma once
// `foreshard calibrate --framework`: constants of a framework profile from measured iterations.

#include <string>
#include <vector>

namespace cli {

struct FrameworkCalibration {
  std::string framework;
  std::vector<std::string> files, constants;  // constants: empty: all that a profile has
  std::string json;
  int evaluations = 100, jobs = 1;
};

// Prints what the constants become and the errors before, after and cross-validated. Returns the exit code.
// Throws: base::InputError: an unknown framework or constant, too few points of it.
[[nodiscard]] int calibrate_framework(const FrameworkCalibration& f);

}  // namespace cli
