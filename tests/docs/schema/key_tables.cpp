#include "tests/docs/schema/key_tables.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

namespace test {
namespace {

std::string trimmed(const std::string& s) {
  const std::size_t from = s.find_first_not_of(' ');
  return from == std::string::npos ? "" : s.substr(from, s.find_last_not_of(' ') - from + 1);
}

// "| a | b \| c |" has the cells "a" and "b \| c".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\') cells.emplace_back();
    else cells.back() += line[i];
  }
  cells.pop_back();  // behind the last bar
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

// Keys behind the first are whole paths, or siblings of the first.
std::vector<std::string> keys_of(const std::string& cell) {
  std::vector<std::string> keys = code_words(cell);
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (keys[i].find('.') == std::string::npos) keys[i].insert(0, keys[0], 0, keys[0].rfind('.') + 1);  // npos + 1 == 0
  return keys;
}

// A short line above a table says what it is of; a longer one is prose.
bool is_name(const std::string& line) {
  constexpr std::size_t kLongest = 60;
  return line.size() <= kLongest && line.ends_with(':');
}

KeyTable table_of(const std::vector<std::string>& lines, std::string name) {
  KeyTable table{.name = std::move(name), .columns = cells_of(lines[0]), .rows = {}};
  const auto column = [&](const char* title) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, title) - table.columns.begin());
  };
  const std::size_t type = column("type"), by_default = column("default"), means = column("means");
  for (std::size_t i = 2; i < lines.size(); ++i) {  // behind the header and its rule
    const std::vector<std::string> cells = cells_of(lines[i]);
    const auto cell = [&](std::size_t c) { return c < cells.size() ? cells[c] : std::string(); };
    table.rows.push_back({keys_of(cells[0]), cell(type), cell(by_default), cell(means), lines[i]});
  }
  return table;
}

}  // namespace

std::vector<KeyTable> tables_of(const std::string& document) {
  std::vector<KeyTable> tables;
  std::vector<std::string> lines;
  std::string heading, above, line;
  bool is_code = false;
  std::istringstream in(document + "\n\n");
  while (std::getline(in, line)) {
    const bool is_fence = line.starts_with("```");
    if (is_fence) is_code = !is_code;
    if (is_fence || is_code) {
      above.clear();  // what is above the code is not above a table
      continue;
    }
    if (line.starts_with('|')) {
      lines.push_back(line);
      continue;
    }
    if (!lines.empty()) tables.push_back(table_of(lines, is_name(above) ? heading + ": " + above : heading));
    lines.clear();
    if (line.starts_with('#')) heading = line.substr(line.find(' ') + 1);
    if (!line.empty()) above = line;
  }
  return tables;
}

std::vector<std::string> code_words(const std::string& text) {
  static const std::regex code("`([^`]+)`");
  std::vector<std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it) words.push_back((*it)[1]);
  return words;
}

}  // namespace test
