#include <memory>

#include "cli/commands/command.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/schema/schema.hpp"

namespace cli {

void add_schema(CLI::App& app, Action& action) {
  const auto kind = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("schema", "Print the JSON Schema of a kind of file, with which editors complete its keys");
  c->add_option("kind", *kind, "What the file holds")->required()->check(CLI::IsMember(reports::schema_kinds()));
  c->footer("In a file: # yaml-language-server: $schema=scenario.schema.json");
  set_action(*c, action, [kind] {
    print(reports::schema_json(*kind));
    return kAnswered;
  });
}

}  // namespace cli
