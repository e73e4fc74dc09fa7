#pragma once
// Completion of the command line in shells, made from the commands themselves.

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

// Return a script for the shell: commands, their options, the values of an option that is one of a few words, and files elsewhere.
[[nodiscard]] std::string bash_completion(const CLI::App& app);
[[nodiscard]] std::string zsh_completion(const CLI::App& app);

}  // namespace cli
