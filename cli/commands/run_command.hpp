#pragma once
// `foreshard run`: scenario files answered, as a table, JSON, CSV or a trace.

#include "cli/commands/command.hpp"

namespace cli {

void add_run(CLI::App& app, Action& action);

}  // namespace cli
