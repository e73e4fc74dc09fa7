#include "profiles/fit/profile_text.hpp"

#include <map>
#include <utility>
#include <vector>

#include "base/yaml/parse.hpp"

namespace fit {
namespace {

using base::Yaml;
using Lines = std::vector<std::string>;

// The index of each key's line, by the path of the key.
void find_keys(const Yaml& map, const std::string& path, std::map<std::string, std::size_t>& line_of_key) {
  for (const Yaml::Entry& e : map.entries) {
    const std::string key = path + "." + e.key;
    line_of_key.emplace(key, static_cast<std::size_t>(e.key_mark.line) - 1);
    find_keys(e.value, key, line_of_key);
  }
}

std::map<std::string, std::size_t> keys_of(const std::string& text) {
  std::map<std::string, std::size_t> keys;
  find_keys(base::parse_yaml(text, "<network profile>"), "", keys);
  return keys;
}

bool is_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos || line[first] == '#';
}

// From the blanks before a # on, which begins a comment unless it is in quotes.
std::string comment_after(const std::string& line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) quote = line[i] == quote ? '\0' : quote;
    else if (line[i] == '"' || line[i] == '\'') quote = line[i];
    else if (line[i] == '#' && i > 0 && line[i - 1] == ' ') return line.substr(line.find_last_not_of(' ', i - 1) + 1);
  }
  return {};
}

struct Comments {
  std::string above, after;
};

// By line, of lines with keys; `at_end`: below the last of them.
std::map<std::size_t, Comments> comments_of(const Lines& lines, std::string& at_end) {
  std::map<std::size_t, Comments> comments;
  std::string above;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_comment(lines[i])) above += lines[i] + "\n";
    else comments[i] = {std::exchange(above, {}), comment_after(lines[i])};
  }
  at_end = above;
  return comments;
}

}  // namespace

std::string with_fitted(const std::string& before, const profiles::NetworkProfile& profile) {
  std::string at_end;
  std::map<std::size_t, Comments> comments = comments_of(lines_of(before), at_end);
  const std::string written = profiles::to_yaml(profile);
  Lines lines = lines_of(written);
  const std::map<std::string, std::size_t> old_keys = keys_of(before);
  std::vector<Comments> placed(lines.size());
  for (const auto& [key, line] : keys_of(written))
    if (const auto old = old_keys.find(key); old != old_keys.end()) {
      // The first key of an old line takes its comments: keys in braces come after the one that has them.
      Comments taken = std::exchange(comments[old->second], {});
      placed[line].above += taken.above;
      if (placed[line].after.empty()) placed[line].after = taken.after;
    }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += placed[i].above + lines[i] + placed[i].after + "\n";
  return text + at_end;
}

}  // namespace fit
