#pragma once
// `foreshard check`: every problem of a file, and whether a plan computes what its model does.

#include "cli/commands/command.hpp"

namespace cli {

void add_check(CLI::App& app, Action& action);

}  // namespace cli
