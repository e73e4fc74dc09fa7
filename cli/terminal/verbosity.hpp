#pragma once
// The option --quiet.

#include <CLI/CLI.hpp>

#include <string>

#include "base/progress.hpp"

namespace cli {

// Adds --quiet, which sets `verbosity`. `help` says what a quiet command leaves out. Requires: `verbosity` outlives the command line.
void add_quiet(CLI::App& command, base::Verbosity& verbosity, const std::string& help);

}  // namespace cli
