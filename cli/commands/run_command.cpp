#include <memory>

#include "base/yaml/parse.hpp"
#include "cli/commands/answering.hpp"
#include "cli/commands/command.hpp"

namespace cli {

void add_run(CLI::App& app, Action& action) {
  const auto f = std::make_shared<RunFlags>();
  CLI::App* c = app.add_subcommand("run", "Answer every question in a scenario: plans side by side, what-ifs, and capacity planning");
  c->add_option("scenario", f->scenarios, "Scenario files")->required();
  add_answer_options(*c, *f);
  c->footer("Plans and their options: foreshard show planners");
  set_action(*c, action, [f] {
    return answer_all(*f, [&] {
      std::vector<scenarios::Scenario> loaded;
      for (const std::filesystem::path file : f->scenarios)
        loaded.push_back(scenarios::load_scenario(base::read_yaml(file), file.parent_path()));
      return loaded;
    });
  });
}

}  // namespace cli
