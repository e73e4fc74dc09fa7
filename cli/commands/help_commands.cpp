#include "cli/commands/command.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/output.hpp"

namespace cli {
namespace {

struct Command {
  const CLI::App* app = nullptr;
  std::string words;  // "foreshard show model"
};

std::vector<Command> subcommands_of(const Command& c) {
  std::vector<Command> all;
  for (const CLI::App* sub : c.app->get_subcommands([](const CLI::App*) { return true; }))
    all.push_back({sub, c.words + " " + sub->get_name()});
  return all;
}

// The program itself, then every command after its parent, in the order in which they were added.
std::vector<Command> all_commands(const CLI::App& app) {
  std::vector<Command> all{{&app, app.get_name()}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<Command> below = subcommands_of(all[i]);
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, below.begin(), below.end());
  }
  return all;
}

// The options with a long name, without positional arguments.
std::vector<const CLI::Option*> options_of(const Command& c) {
  return c.app->get_options([](const CLI::Option* o) { return !o->get_lnames().empty(); });
}

// Inside single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Between the brackets and colons of a zsh specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string words_of(const Command& c) {
  std::vector<std::string> words;
  for (const Command& sub : subcommands_of(c)) words.push_back(sub.app->get_name());
  for (const CLI::Option* o : options_of(c)) words.push_back("--" + o->get_lnames().front());
  return fmt::format("{}", fmt::join(words, " "));
}

// Return a script for the shell: commands, their options, the values of an option that is one of a few words, and files elsewhere.
std::string bash_completion(const CLI::App& app) {
  std::string cases;
  for (const Command& c : all_commands(app)) cases += fmt::format("    {}) words={} ;;\n", quoted(c.words), quoted(words_of(c)));
  return fmt::format(R"script(# Completion of {0} for bash
_{0}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="{0}" word words=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " $(_{0}_words "$command") " in
      *" $word "*) case "$word" in -*) ;; *) command="$command $word" ;; esac ;;
    esac
  done
  words="$(_{0}_words "$command")"
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
_{0}_words() {{
  local words=""
  case "$1" in
{1}  esac
  echo "$words"
}}
complete -o filenames -F _{0} {0}
)script",
                     app.get_name(), cases);
}

std::string zsh_completion(const CLI::App& app) {
  std::string functions, cases;
  for (const Command& c : all_commands(app)) {
    std::vector<std::string> specs;
    for (const CLI::Option* o : options_of(c))
      specs.push_back(quoted(fmt::format("--{}[{}]{}", o->get_lnames().front(), zsh_text(o->get_description()),
                                         o->get_items_expected_max() > 0 ? ":value:_files" : "")));
    std::vector<std::string> names;
    for (const Command& sub : subcommands_of(c))
      names.push_back(quoted(fmt::format("{}:{}", sub.app->get_name(), zsh_text(sub.app->get_description()))));
    cases += fmt::format("    {}) options=({}) commands=({}) ;;\n", quoted(c.words), fmt::join(specs, " "), fmt::join(names, " "));
  }
  return fmt::format(R"script(#compdef {0}
# Completion of {0} for zsh
_{0}() {{
  local command="{0}" word
  local -a options commands
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    _{0}_words "$command"
    if (( ${{commands[(I)$word:*]}} )); then command="$command $word"; fi
  done
  _{0}_words "$command"
  if (( $#commands )); then _describe command commands; fi
  _arguments -s $options '*:file:_files'
}}
_{0}_words() {{
  options=() commands=()
  case "$1" in
{1}  esac
}}
compdef _{0} {0}
)script",
                     app.get_name(), cases);
}

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
