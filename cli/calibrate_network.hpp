#pragma once
// The other half of `foreshard calibrate`: network profiles.

#include <string>

#include "profiles/measurements/measurements.hpp"

namespace cli {

// `word`: a network profile's name or file. Prints a table of residuals; writes the fitted profile to `output` ("" nowhere, "-" standard
// output, then without the table). `compare_only`: fits nothing. Throws: base::InputError.
int calibrate_network(const std::string& word, const profiles::Measurements& rows, const std::string& output, bool compare_only);

}  // namespace cli
