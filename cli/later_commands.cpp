#include <fmt/core.h>

#include <string>

#include "cli/commands.hpp"

namespace cli {

void add_later(CLI::App& app, Action& action) {
  for (const std::string name : {"rules"}) {
    CLI::App* c = app.add_subcommand(name, "Not in this version");
    c->allow_extras();
    c->callback([name, &action] {
      action = [name] {
        fmt::print(stderr, "foreshard {}: this version does not have it yet\n", name);
        return static_cast<int>(kBadInput);
      };
    });
  }
}

}  // namespace cli
