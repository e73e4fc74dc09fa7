#pragma once
// `foreshard show`: what was understood of a cluster, a model, a plan or rules, and what there is to name.

#include "cli/commands/command.hpp"

namespace cli {

void add_show(CLI::App& app, Action& action);

}  // namespace cli
