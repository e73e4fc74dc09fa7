#include "tests/docs/keys/key_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <sstream>

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

std::string parent_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot + 1);
}

// Keys behind the first are whole paths, or siblings of the first.
std::vector<std::string> keys_of(const std::string& cell) {
  std::vector<std::string> keys = code_words(cell);
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (keys[i].find('.') == std::string::npos) keys[i] = parent_of(keys[0]) + keys[i];
  return keys;
}

// A short line above a table says what it is of; a longer one is prose.
bool is_name(const std::string& line) {
  constexpr std::size_t kLongest = 60;
  return line.size() <= kLongest && (line.starts_with('`') || line.ends_with(':'));
}

KeyTable table_of(const std::vector<std::string>& lines, std::string name) {
  KeyTable table{.name = std::move(name), .columns = cells_of(lines[0]), .rows = {}};
  const auto column = [&](const char* title) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, title) - table.columns.begin());
  };
  const std::size_t type = column("type"), by_default = column("default");
  for (std::size_t i = 2; i < lines.size(); ++i) {  // behind the header and its rule
    const std::vector<std::string> cells = cells_of(lines[i]);
    const auto cell = [&](std::size_t c) { return c < cells.size() ? cells[c] : std::string(); };
    table.rows.push_back({keys_of(cells[0]), cell(type), cell(by_default), lines[i]});
  }
  return table;
}

std::string quantity_of(const std::string& type) {
  if (type == "time") return "2 ms";
  if (type == "bytes" || type == "size") return "2 GB";
  if (type.starts_with("bandwidth")) return "2 GB/s";
  if (type == "money") return "2 kUSD";
  if (type == "price") return "2 USD/gpu/h";
  if (type.starts_with("power")) return "2 kW/node";
  if (type.starts_with("money `/node`")) return "2 kUSD/node";
  if (type.starts_with("money `/node/year`")) return "2 kUSD/node/year";
  if (type.starts_with("money `/kWh`")) return "2 USD/kWh";
  return type == "FLOP rate" ? "2 TFLOP/s" : "";
}

// Bounds of "integer ≥ 1", "integer 0 to 3", "number ≥ 1", "0.5 to 0.999".
std::optional<Samples> bounded(const std::string& type) {
  static const std::regex pattern("(integer|number)?(?: ?≥ (-?[0-9.]+)| ?(-?[0-9.]+) to ([0-9.]+))?");
  std::smatch m;
  if (type.empty() || !std::regex_match(type, m, pattern)) return std::nullopt;
  Samples s{.accepted = {}, .refused = {"word", "[1, 2]", "\"1\""}};
  const bool whole = m[1] == "integer";
  if (whole) s.refused.emplace_back("1.5");
  const std::string least = m[2].matched ? m[2].str() : m[3].str(), most = m[4].str();
  if (!whole && !least.empty())  // a number need not be whole
    s.accepted.push_back(fmt::format("{}", std::stod(least) + 0.37 * (most.empty() ? 1 : std::stod(most) - std::stod(least))));
  if (!least.empty()) {
    s.accepted.push_back(least);
    s.refused.push_back(whole ? fmt::format("{}", std::stoll(least) - 1) : fmt::format("{}", std::stod(least) - 1e-4));
  }
  if (!most.empty()) {
    s.accepted.push_back(most);
    s.refused.push_back(whole ? fmt::format("{}", std::stoll(most) + 1) : fmt::format("{}", std::stod(most) + 1e-3));
  }
  return s;
}

}  // namespace

std::vector<KeyTable> tables_of(const std::string& document) {
  std::vector<KeyTable> tables;
  std::vector<std::string> lines;
  std::string heading, above, line;
  std::istringstream in(document + "\n\n");
  while (std::getline(in, line)) {
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

Samples samples_of(const std::string& type) {
  static const std::regex words("(`[A-Za-z0-9_.-]+` ?)+"), list("list( .*)?");
  if (type == "boolean") return {{"true", "false"}, {"1", "yes", "\"true\"", "[true]"}};
  if (type == "text") return {{"word"}, {"[word]", "{word: 1}"}};
  if (type == "map") return {{}, {"[1]", "\"@@\""}};
  if (const std::string quantity = quantity_of(type); !quantity.empty()) return {{quantity}, {"3", "3 apples", "-1 s", "[3]"}};
  if (const auto numbers = bounded(type)) return *numbers;
  if (std::regex_match(type, words)) return {code_words(type), {"\"@@\"", "[1]"}};
  if (std::regex_match(type, list)) return {{}, {"{\"@@\": 1}"}};
  return {{}, {"[{\"@@\": [1]}]"}};  // of several types, or of one of its own
}

std::optional<std::string> default_value(const std::string& cell) {
  static const std::regex code("`[^` ]+`"), number("true|false|-?[0-9.]+( [A-Za-z]+)?");
  if (std::regex_match(cell, code)) return cell.substr(1, cell.size() - 2);
  if (std::regex_match(cell, number)) return cell;
  return cell == "empty" ? std::optional<std::string>("\"\"") : std::nullopt;
}

}  // namespace test
