#pragma once
// `foreshard calibrate --network`: a network profile fitted to, or held against, measured collectives.

#include <string>

#include "base/progress.hpp"
#include "profiles/measured/measurements.hpp"

namespace cli {

struct NetworkFlags {
  std::string network;        // a profile's name or file
  std::string output, json;   // the fitted profile, the residuals of all rows; "" nowhere, "-" standard output
  bool compare_only = false;  // fits nothing
  base::Verbosity verbosity = base::Verbosity::usual;
};
// Prints a table of residuals, unless it is to be quiet or standard output is for one of the others. Throws: base::InputError.
int calibrate_network(const NetworkFlags& f, const measured::Measurements& rows);

}  // namespace cli
