#pragma once
// `foreshard import`: measurements and topologies of other tools in our own forms.

#include "cli/commands/command.hpp"

namespace cli {

void add_import(CLI::App& app, Action& action);

}  // namespace cli
