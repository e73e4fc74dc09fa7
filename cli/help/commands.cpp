#include "cli/help/commands.hpp"

namespace cli {

std::vector<Command> subcommands_of(const Command& c) {
  std::vector<Command> all;
  for (const CLI::App* sub : c.app->get_subcommands([](const CLI::App*) { return true; }))
    all.push_back({sub, c.words + " " + sub->get_name()});
  return all;
}

std::vector<Command> all_commands(const CLI::App& app) {
  std::vector<Command> all{{&app, app.get_name()}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<Command> below = subcommands_of(all[i]);
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, below.begin(), below.end());
  }
  return all;
}

std::vector<const CLI::Option*> options_of(const Command& c) {
  return c.app->get_options([](const CLI::Option* o) { return !o->get_lnames().empty(); });
}

}  // namespace cli
