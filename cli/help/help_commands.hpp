#pragma once
// foreshard completion and foreshard man: what packages install beside the program.

#include "cli/commands/command.hpp"

namespace cli {

// Adds both. What they print is made from the commands that `app` has when they run.
void add_help_commands(CLI::App& app, Action& action);

}  // namespace cli
