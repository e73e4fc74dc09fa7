#include "cli/mistyped.hpp"

#include <fmt/core.h>

namespace cli {
namespace {

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::optional<base::Diagnostic> mistyped(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const std::string word : words) {
    const std::vector<std::string> commands = commands_of(*at);
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const std::vector<std::string> options = options_of(*at);
      if (std::ranges::find(options, name) == options.end())
        return base::Diagnostic{{}, path, fmt::format("there is no option \"{}\"", name), base::suggest(name, options)};
    } else if (!commands.empty() && !word.starts_with('-')) {
      if (std::ranges::find(commands, word) == commands.end())
        return base::Diagnostic{{}, path, fmt::format("there is no command \"{}\"", word), base::suggest(word, commands)};
      at = at->get_subcommand(word);
      path += " " + word;
    }
  }
  if (const std::vector<std::string> commands = commands_of(*at); !commands.empty())
    return base::Diagnostic{{}, path, "a command is missing", base::suggest("", commands)};
  return std::nullopt;
}

}  // namespace cli
