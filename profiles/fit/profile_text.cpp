#include "profiles/fit/profile_text.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/check.hpp"
#include "base/yaml/parse.hpp"
#include "profiles/fitted.hpp"

namespace fit {
namespace {

using base::Yaml;

const Yaml::Entry& key(const Yaml& map, const std::string& name) {
  const auto at = std::ranges::find(map.entries, name, &Yaml::Entry::key);
  BASE_CHECK(at != map.entries.end(), "no key {}", name);
  return *at;
}

std::size_t line_of(const base::Mark& m) { return static_cast<std::size_t>(m.line) - 1; }

bool begins(const std::string& line, std::string_view what) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && line.substr(first).starts_with(what);
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

CommentedYaml::CommentedYaml(const std::string& text, std::string root) : root_(std::move(root)), lines_(lines_of(text)) {
  const Yaml document = parse();
  const Yaml::Entry& top = key(document, root_);
  if (top.value.mark.line == top.key_mark.line)
    base::refuse(top.value.mark, root_, "is written in braces", "write its keys on lines of their own");
}

std::string CommentedYaml::text() const { return fmt::format("{}\n", fmt::join(lines_, "\n")); }

// Places change with every line, so the text is read anew before each change.
Yaml CommentedYaml::parse() const { return base::parse_yaml(text(), fmt::format("<{} profile>", root_)); }

void CommentedYaml::set(const std::string& section, const std::string& name, const std::string& value,
                        const std::vector<std::string>& comments) {
  ensure_block(section);
  const Yaml document = parse();
  const Yaml::Entry& parent = key(*document.find(root_), section);
  std::size_t at = line_of(parent.key_mark) + 1;  // the line of the key, or the one before which it comes
  std::string indent = blanks(static_cast<std::size_t>(parent.key_mark.column) + 1);
  if (parent.value.is_map() && !parent.value.entries.empty()) {
    const Yaml::Entry& last = parent.value.entries.back();
    indent = blanks(static_cast<std::size_t>(last.key_mark.column) - 1);
    at = line_of(last.key_mark) + 1;
  }
  if (const Yaml* there = parent.value.find(name)) {
    at = line_of(there->mark);
    lines_[at].replace(static_cast<std::size_t>(there->mark.column) - 1, there->scalar.size(), value);
    at = without_earlier(at);
  } else {
    lines_.insert(place(at), fmt::format("{}{}: {}", indent, name, value));
  }
  for (std::size_t i = 0; i < comments.size(); ++i) lines_.insert(place(at + i), indent + comments[i]);
}

void CommentedYaml::put_last(const std::string& key_name, const std::string& comment, const std::string& block) {
  const Yaml document = parse();
  const Yaml& root = *document.find(root_);
  if (root.find(key_name) != nullptr) {
    const std::size_t first = without_earlier(line_of(key(root, key_name).key_mark));
    lines_.erase(place(first), lines_.end());
  }
  lines_.push_back(blanks(static_cast<std::size_t>(root.entries.front().key_mark.column) - 1) + comment);
  std::ranges::copy(lines_of(block), std::back_inserter(lines_));
}

// Takes away the comments of an earlier calibration above a line. Returns the line's new number.
std::size_t CommentedYaml::without_earlier(std::size_t line) {
  std::size_t first = line;
  while (first > 0 && begins(lines_[first - 1], kMore)) --first;
  if (first == 0 || !(begins(lines_[first - 1], kCalibrated) || begins(lines_[first - 1], kWritten))) return line;
  lines_.erase(place(first - 1), place(line));
  return first - 1;
}

// Makes the section a map of one key a line, empty if the file does not have it.
void CommentedYaml::ensure_block(const std::string& section) {
  const Yaml document = parse();
  const Yaml& root = *document.find(root_);
  const std::size_t indent = static_cast<std::size_t>(root.entries.front().key_mark.column) - 1;
  if (root.find(section) == nullptr) {
    lines_.push_back(fmt::format("{}{}: {{}}", blanks(indent), section));
    return ensure_block(section);
  }
  const Yaml::Entry& entry = key(root, section);
  const std::size_t first = line_of(entry.key_mark);
  if (entry.value.mark.line != entry.key_mark.line) return;
  // From the opening brace to the one that closes it.
  std::size_t last = first, column = static_cast<std::size_t>(entry.value.mark.column) - 1;
  while (lines_[last].find('}', column) == std::string::npos) ++last, column = 0;
  const std::string after = lines_[last].substr(lines_[last].find('}', column) + 1);
  std::vector<std::string> written{fmt::format("{}{}:{}", blanks(indent), section, after)};
  for (const Yaml::Entry& e : entry.value.entries) written.push_back(fmt::format("{}{}: {}", blanks(indent + 2), e.key, e.value.scalar));
  lines_.erase(place(first), place(last + 1));
  lines_.insert(place(first), written.begin(), written.end());
}

std::string with_fitted(const std::string& profile, const profiles::Fitted& fitted) {
  CommentedYaml text(profile, "device");
  text.put_last("fitted", fmt::format("{}, with the errors it left. `error` is the mean of |predicted / measured - 1|.", kWritten),
                profiles::to_text(fitted));
  return text.text();
}

}  // namespace fit
