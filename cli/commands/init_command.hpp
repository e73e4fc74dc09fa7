#pragma once
// foreshard init: a commented scenario to start from.

#include "cli/commands/command.hpp"

namespace cli {

void add_init(CLI::App& app, Action& action);

}  // namespace cli
