#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/commands/command_tree.hpp"
#include "cli/terminal/standard_streams.hpp"

namespace cli {
namespace {

// roff takes a dot or an apostrophe at the start of a line for a request, a backslash for an escape, and a dash for a hyphen.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string option_text(const CLI::Option& o) {
  const std::string value =
      o.get_items_expected_max() > 0 ? " \\fI" + roff(o.get_type_name().empty() ? "VALUE" : o.get_type_name()) + "\\fR" : "";
  return fmt::format(".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", roff(o.get_lnames().front()), value, roff(o.get_description()));
}

std::string command_text(const Command& c) {
  std::string arguments, text;
  for (const CLI::Option* o : c.app->get_options([](const CLI::Option* option) { return option->get_positional(); })) {
    const std::string name = o->get_name(true);
    arguments += o->get_required() ? fmt::format(" \\fI{}\\fR", roff(name)) : fmt::format(" [\\fI{}\\fR]", roff(name));
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(name), roff(o->get_description()));
  }
  for (const CLI::Option* o : options_of(c)) text += option_text(*o);
  return fmt::format(".SS {}{}\n{}.\n{}", roff(c.words), arguments, roff(c.app->get_description()), text);
}

// Returns the page foreshard(1) for man: what the program is, every command with its arguments and options, exit codes, files.
std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH FORESHARD 1 \"\" \"foreshard {}\" \"User commands\"\n"
      ".SH NAME\nforeshard \\- {}\n"
      ".SH SYNOPSIS\n\\fBforeshard\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH COMMANDS\n",
      version, roff(app.get_description()));
  for (const Command& c : all_commands(app))
    if (c.app != &app) text += command_text(c);
  return text +
         ".SH EXIT STATUS\n"
         ".TP\n0\nanswered\n.TP\n1\na healthy answer that is no: nothing fits, a plan does not compute its model\n"
         ".TP\n2\nbad input\n.TP\n3\na bug of the program\n"
         ".SH ENVIRONMENT\n"
         ".TP\nCOLUMNS\ncolumns of the screen, for tables\n.TP\nNO_COLOR\nset: text has no colours\n";
}

}  // namespace

void add_help_commands(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes the command line in a shell");
  completion->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer("bash: source <(foreshard completion bash); zsh: the same; fish: foreshard completion fish | source");
  set_action(*completion, action, [shell, &app] {
    print(*shell == "bash" ? bash_completion(app) : *shell == "zsh" ? zsh_completion(app) : fish_completion(app));
    return kAnswered;
  });
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Print the help of the program, or of a command");
  help->add_option("command", *words, "A command, e.g. run, or show model");
  set_action(*help, action, [words, &app] {
    std::string path = app.get_name();
    const CLI::App* at = &app;
    for (const std::string& word : *words) {
      if (const auto known = commands_of(*at); std::ranges::find(known, word) == known.end())
        base::refuse(path, fmt::format("there is no command \"{}\"", word), base::suggest(word, known));
      at = at->get_subcommand(word);
      path += " " + word;
    }
    print(at->help(at == &app ? "" : path));
    return kAnswered;
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page: foreshard man | man -l -");
  set_action(*man, action, [&app] {
    print(man_page(app, program_version()));
    return kAnswered;
  });
}

}  // namespace cli
