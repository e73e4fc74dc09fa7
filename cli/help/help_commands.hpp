#pragma once
// foreshard completion and foreshard man: what packages install beside the program. foreshard --version.

#include "cli/commands/command.hpp"

namespace cli {

// Adds both. What they print is made from the commands that `app` has when they run.
void add_help_commands(CLI::App& app, Action& action);

// Both are written at build time by cmake/version.cmake.
// Returns the release: "0.2.0".
[[nodiscard]] const char* program_version();
// Returns what --version prints: "foreshard 0.2.0 (1a2b3c4d, 2026-11-27)". The commit ends in -dirty where tracked files differed from it;
// it is not there where the build had no git checkout.
[[nodiscard]] const char* version_text();

}  // namespace cli
