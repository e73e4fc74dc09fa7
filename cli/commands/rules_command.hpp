#pragma once
// `foreshard rules`: substitutions generated, verified, compared and shown.

#include "cli/commands/command.hpp"

namespace cli {

void add_rules(CLI::App& app, Action& action);

}  // namespace cli
