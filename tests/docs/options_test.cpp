// The command line: every option that the program has is in docs/formats, and every option there is one of the program.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/docs/file_text.hpp"

namespace {

std::string help_of(const std::string& command) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("foreshard-help-{}", getpid());
  const std::string line = fmt::format("{} {} --help > {}", FORESHARD_PROGRAM, command, file.string());
  REQUIRE(std::system(line.c_str()) == 0);
  std::string text = test::text_of(file);
  std::filesystem::remove(file);
  return text;
}

std::set<std::string> flags_in(const std::string& text) {
  static const std::regex flag("--[a-z][a-z-]*");
  std::set<std::string> flags;
  for (std::sregex_iterator it(text.begin(), text.end(), flag), end; it != end; ++it) flags.insert(it->str());
  return flags;
}

// Options of a command, whose lines begin with them, and of the commands below it.
void collect_options(const std::string& command, std::set<std::string>& options, std::vector<std::string>& below) {
  std::istringstream help(help_of(command));
  std::string line, section;
  while (std::getline(help, line)) {
    if (!line.starts_with(' ')) section = line;
    const std::string first = line.substr(std::min(line.size(), std::size_t{2}), line.find(' ', 2) - 2);
    if (section == "Options:" && line.starts_with("  -")) options.merge(flags_in(first));
    if (section == "Subcommands:" && line.starts_with("  ") && line[2] != ' ') below.push_back(first);
  }
}

std::map<std::string, std::set<std::string>> options_of_commands() {
  std::map<std::string, std::set<std::string>> all;
  std::set<std::string> of_program;
  std::vector<std::string> commands;
  collect_options("", of_program, commands);
  for (const std::string& command : commands) {
    std::vector<std::string> below;
    collect_options(command, all[command], below);
    for (const std::string& more : below) {
      std::vector<std::string> none;
      collect_options(command + " " + more, all[command], none);
    }
    all[command].erase("--help");
  }
  return all;
}

// The document's paragraphs and rows; a section of a command's options is one passage.
std::vector<std::string> passages() {
  std::vector<std::string> all(1);
  std::istringstream in(test::formats_text());
  bool is_of_options = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) is_of_options = line.starts_with("## Options of ");
    if (line.starts_with('#') || (!is_of_options && (line.empty() || line.starts_with('|')))) all.emplace_back();
    if (!line.empty()) all.back() += line + "\n";
  }
  return all;
}

// What says a command's options: its row, and the section of its options.
std::string words_on(const std::string& command, bool anywhere) {
  std::string text;
  for (const std::string& p : passages()) {
    const bool own = p.starts_with(fmt::format("| `foreshard {}", command)) || p.starts_with(fmt::format("## Options of `{}`", command));
    if (own && p.find("All options of `run`") != std::string::npos) text += words_on("run", true);
    if (own || (anywhere && p.find(fmt::format("foreshard {}", command)) != std::string::npos)) text += p;
  }
  return text;
}

}  // namespace

TEST_CASE("docs/formats names every command and every option of it, and no others") {
  const auto commands = options_of_commands();
  CHECK(commands.size() > 5);
  for (const auto& [command, options] : commands) {
    CHECK_MESSAGE(!words_on(command, false).empty(), command);
    const std::set<std::string> said = flags_in(words_on(command, true)), own = flags_in(words_on(command, false));
    for (const std::string& option : options) CHECK_MESSAGE(said.contains(option), command, " ", option);
    for (const std::string& option : own) CHECK_MESSAGE((options.contains(option) || option == "--help"), command, " ", option);
  }
}

TEST_CASE("the README calls the program with options that it has") {
  const auto commands = options_of_commands();
  static const std::regex call("foreshard ([a-z]+)([^\n#`|]*)");
  const std::string text = test::text_of(SOURCE_DIRECTORY "/README.md");
  int seen = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    const auto command = commands.find((*it)[1]);
    if (command == commands.end()) continue;
    ++seen;
    for (const std::string& flag : flags_in((*it)[2])) CHECK_MESSAGE(command->second.contains(flag), it->str());
  }
  CHECK(seen > 5);
}
