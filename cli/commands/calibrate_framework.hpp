#pragma once
// `foreshard calibrate --framework`: constants of a framework profile from measured iterations.

#include <string>
#include <vector>

#include "base/progress.hpp"

namespace cli {

struct FrameworkCalibration {
  std::string framework;                      // a name, or a file to start from
  std::vector<std::string> files, constants;  // constants: empty: all that a profile has
  std::string json, output;                   // files to write, may be empty; "-": standard output
  int evaluations = 100, jobs = 1;
  base::Verbosity verbosity = base::Verbosity::usual;
};

// Prints what the constants become and the errors before, after and cross-validated; writes the profile to `output`. Where a name is given
// and `output` is there already, that is what the fit starts from, as with devices. Returns the exit code.
// Throws: base::InputError: an unknown framework or constant, too few points of it.
[[nodiscard]] int calibrate_framework(const FrameworkCalibration& f);

}  // namespace cli
