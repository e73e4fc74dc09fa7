#include "cli/help/completion.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/help/commands.hpp"

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

std::string words_of(const Command& c) {
  std::vector<std::string> words;
  for (const Command& sub : subcommands_of(c)) words.push_back(sub.app->get_name());
  for (const CLI::Option* o : options_of(c)) words.push_back("--" + o->get_lnames().front());
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

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

}  // namespace cli
