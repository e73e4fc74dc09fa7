#pragma once
// The commands of the program as a tree: what the manual page and completion are made of. Private to this folder.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cli {

struct Command {
  const CLI::App* app = nullptr;
  std::string words;  // "foreshard show model"
};

[[nodiscard]] std::vector<std::string> commands_of(const CLI::App& app);
[[nodiscard]] std::vector<Command> subcommands_of(const Command& c);
// The program itself, then every command after its parent, in the order in which they were added.
[[nodiscard]] std::vector<Command> all_commands(const CLI::App& app);
// The options with a long name, without positional arguments.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const Command& c);

// Return a script for the shell: commands, their options, the values of options and arguments that are names of what ships or one of a few
// words, and files elsewhere.
[[nodiscard]] std::string bash_completion(const CLI::App& app);
[[nodiscard]] std::string zsh_completion(const CLI::App& app);
[[nodiscard]] std::string fish_completion(const CLI::App& app);

}  // namespace cli
