#pragma once
// `foreshard calibrate`: device, network and framework profiles from measurements.

#include "cli/commands/command.hpp"

namespace cli {

void add_calibrate(CLI::App& app, Action& action);

}  // namespace cli
