#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/commands/command.hpp"
#include "cli/commands/command_tree.hpp"
#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "search/planners.hpp"
#include "topology/load.hpp"

namespace cli {
namespace {

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

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The values of an option, or, by the words of a command, of its argument: "few all".
using Values = std::map<std::string, std::string>;

Values values_of_options() {
  const std::string presets = joined(topology::preset_names()), devices = joined(profiles::device_names());
  return {{"--model", joined(pcg::models::builtin_names())},
          {"--on", presets},
          {"--cluster", presets},
          {"--device", devices},
          {"--gpu", devices},
          {"--network", joined(profiles::network_names())},
          {"--framework", joined(pcg::names<pcg::Framework>())},
          {"--precision", joined(pcg::names<pcg::Precision>())},
          {"--notes", "few all"},
          {"--format", "table markdown csv json"}};
}

Values values_of_arguments() {
  return {{"foreshard show model", joined(pcg::models::builtin_names())},
          {"foreshard show cluster", joined(topology::preset_names())},
          {"foreshard show device", joined(profiles::device_names())},
          {"foreshard show network", joined(profiles::network_names())},
          {"foreshard show framework", joined(pcg::names<pcg::Framework>())},
          {"foreshard show planners", joined(search::planner_kinds())},
          {"foreshard ask", joined(pcg::models::builtin_names())},
          {"foreshard completion", "bash zsh fish"}};
}

// ":value:(few all)", or files.
std::string zsh_values(const std::string& option) {
  const Values all = values_of_options();
  const auto at = all.find(option);
  return at == all.end() ? ":value:_files" : fmt::format(":value:({})", at->second);
}

std::string words_of(const Command& c) {
  std::vector<std::string> words = commands_of(*c.app);
  for (const CLI::Option* o : options_of(c)) words.push_back("--" + o->get_lnames().front());
  const Values arguments = values_of_arguments();
  if (const auto at = arguments.find(c.words); at != arguments.end()) words.push_back(at->second);
  return joined(words);
}

}  // namespace

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

std::string bash_completion(const CLI::App& app) {
  std::string cases, values;
  for (const Command& c : all_commands(app)) cases += fmt::format("    {}) words={} ;;\n", quoted(c.words), quoted(words_of(c)));
  for (const auto& [option, words] : values_of_options())
    values += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n", option, quoted(words));
  return filled("bash_completion", {{"@CASES@", cases}, {"@VALUES@", values}});
}

std::string zsh_completion(const CLI::App& app) {
  std::string cases;
  const Values arguments = values_of_arguments();
  for (const Command& c : all_commands(app)) {
    std::vector<std::string> specs;
    for (const CLI::Option* o : options_of(c))
      specs.push_back(quoted(fmt::format("--{}[{}]{}", o->get_lnames().front(), zsh_text(o->get_description()),
                                         o->get_items_expected_max() > 0 ? zsh_values("--" + o->get_lnames().front()) : "")));
    std::vector<std::string> names;
    for (const Command& sub : subcommands_of(c))
      names.push_back(quoted(fmt::format("{}:{}", sub.app->get_name(), zsh_text(sub.app->get_description()))));
    const auto values = arguments.find(c.words);
    cases += fmt::format("    {}) options=({}) commands=({}){} ;;\n", quoted(c.words), joined(specs), joined(names),
                         values == arguments.end() ? "" : fmt::format(" arguments={}", quoted("(" + values->second + ")")));
  }
  return filled("zsh_completion", {{"@CASES@", cases}});
}

std::string fish_completion(const CLI::App& app) {
  const Values options = values_of_options(), arguments = values_of_arguments();
  std::string out = fmt::format("# Completion of {} for fish\n", app.get_name());
  const auto place = [&](const Command& c) {
    const std::string words = c.words.substr(std::min(c.words.size(), app.get_name().size() + 1));
    return words.empty() ? std::string("__fish_use_subcommand")
                         : fmt::format("string match -q -- '{} *' (commandline -cp | string replace -r '^\\S+ ' '')", words);
  };
  for (const Command& c : all_commands(app)) {
    const std::string start = fmt::format("complete -c {} -n {}", app.get_name(), quoted(place(c)));
    for (const Command& sub : subcommands_of(c))
      out += fmt::format("{} -a {} -d {}\n", start, sub.app->get_name(), quoted(sub.app->get_description()));
    if (const auto values = arguments.find(c.words); values != arguments.end())
      out += fmt::format("{} -a {}\n", start, quoted(values->second));
    for (const CLI::Option* o : options_of(c)) {
      const auto values = options.find("--" + o->get_lnames().front());
      out += fmt::format("{} -l {}{}{} -d {}\n", start, o->get_lnames().front(), o->get_items_expected_max() > 0 ? " -r" : "",
                         values == options.end() ? "" : fmt::format(" -f -a {}", quoted(values->second)), quoted(o->get_description()));
    }
  }
  return out;
}

}  // namespace cli
