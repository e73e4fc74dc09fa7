#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/command_tree.hpp"

namespace cli {
namespace {

std::vector<std::string> long_names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

// "--json=x" is --json; "-hx" is -h with more after it.
const CLI::Option* option_of(const CLI::App& app, std::string_view word) {
  const bool is_long = word.starts_with("--");
  const std::string name(is_long ? word.substr(2, word.find('=') - 2) : word.substr(1, 1));
  for (const CLI::Option* o : app.get_options())
    if (std::ranges::count(is_long ? o->get_lnames() : o->get_snames(), name) > 0) return o;
  return nullptr;
}

// An argument that is written without its name was given with it.
std::string hint_for(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional() && "--" + o->get_single_name() == name) return "write its value without the name";
  return base::suggest(name, long_names_of(app));
}

}  // namespace

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
  return names;
}

std::optional<base::Diagnostic> mistyped(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    if (word == "--") break;                     // after it are no options and no commands
    if (word.starts_with('-') && word != "-") {  // "-" alone is a file: standard output
      const CLI::Option* option = option_of(*at, word);
      if (!option) {
        const std::string name = word.substr(0, word.find('='));
        return base::Diagnostic{{}, path, fmt::format("there is no option \"{}\"", name), hint_for(*at, name)};
      }
      // The words after it are its values, whatever they look like.
      if (word.find('=') == std::string::npos) i += static_cast<std::size_t>(std::max(0, option->get_items_expected_min()));
    } else if (const std::vector<std::string> commands = commands_of(*at); !commands.empty()) {
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

base::Diagnostic misused(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  const std::string said = error.what();
  const std::string hint = fmt::format("{} --help lists what it takes", path);
  constexpr std::string_view kBeforeName = "Could not convert: ";
  const std::string about = said.starts_with(kBeforeName) ? said.substr(kBeforeName.size()) : said;
  const std::string name = about.substr(0, about.find_first_of(": "));
  if (error.get_name() == "RequiredError")
    return {{}, path, fmt::format("{} is missing", said.substr(0, said.rfind(" is required"))), hint};
  if (error.get_name() == "ArgumentMismatch")
    return {{}, path, fmt::format("{} {}", name, said.find("At Most") != std::string::npos ? "is given twice" : "needs a value"), hint};
  if (error.get_name() == "ValidationError" || error.get_name() == "ConversionError") {
    const CLI::Option* option = at->get_option_no_throw(name);
    const std::string range = option != nullptr ? option->get_type_name() : "";
    const std::size_t found = range.find(" in ");
    const std::string value = option != nullptr && !option->results().empty() ? option->results().front() : "";
    const std::size_t words = range.find('{');
    const std::string cure = found != std::string::npos   ? fmt::format("write a number in {}", range.substr(found + 4))
                             : words != std::string::npos ? fmt::format("one of: {}", range.substr(words + 1, range.find('}') - words - 1))
                             : range.find("POSITIVE") != std::string::npos ? "write an integer above 0"
                             : range.find("INT") != std::string::npos      ? "write an integer"
                                                                           : hint;
    return {{}, path, fmt::format("{} cannot be \"{}\"", name, value), cure};
  }
  return {{}, path, said, hint};
}

void set_action(CLI::App& command, Action& action, Action work) {
  command.callback([&action, work = std::move(work)] { action = work; });
}

void add_seed(CLI::App& command, std::uint64_t& seed, const std::string& help) {
  command.add_option("--seed", seed, help)->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
}

void add_quiet(CLI::App& command, base::Verbosity& verbosity, const std::string& help) {
  command.add_flag_callback(
      "--quiet", [&verbosity] { verbosity = base::Verbosity::quiet; }, help);
}

}  // namespace cli
