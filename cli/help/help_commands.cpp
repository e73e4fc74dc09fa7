#include "cli/help/help_commands.hpp"

#include <memory>

#include "cli/help/completion.hpp"
#include "cli/help/man_page.hpp"
#include "cli/terminal/output.hpp"

namespace cli {

void add_help_commands(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes the command line in a shell");
  completion->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  completion->footer("bash: source <(foreshard completion bash); zsh: source <(foreshard completion zsh)");
  completion->callback([shell, &app, &action] {
    action = [shell, &app] {
      write_text("-", *shell == "bash" ? bash_completion(app) : zsh_completion(app));
      return static_cast<int>(kAnswered);
    };
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page: foreshard man | man -l -");
  man->callback([&app, &action] {
    action = [&app] {
      write_text("-", man_page(app, program_version()));
      return static_cast<int>(kAnswered);
    };
  });
}

}  // namespace cli
