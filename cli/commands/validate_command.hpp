#pragma once
// `foreshard validate`: forecasts held against measurements.

#include "cli/commands/command.hpp"

namespace cli {

void add_validate(CLI::App& app, Action& action);

}  // namespace cli
