#pragma once
// The commands of the program as a list: what completion and the manual page are made from.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cli {

struct Command {
  const CLI::App* app = nullptr;
  std::string words;  // "foreshard show model"
};

// The program itself, then every command behind its parent, in the order in which they were added.
[[nodiscard]] std::vector<Command> all_commands(const CLI::App& app);
[[nodiscard]] std::vector<Command> subcommands_of(const Command& c);
// Those with a long name. Positional arguments are not among them.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const Command& c);

}  // namespace cli
