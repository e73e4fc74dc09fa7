#include "tests/docs/keys/key_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <regex>

namespace test {
namespace {

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

Samples samples_of(const std::string& type) {
  static const std::regex words("(`[A-Za-z0-9_.-]+` ?)+"), list("list( .*)?");
  if (type == "boolean") return {{"true", "false"}, {"1", "yes", "\"true\"", "[true]"}};
  if (type == "text") return {{"word"}, {"[word]", "{word: 1}"}};
  if (type == "map") return {{}, {"[1]", "\"@@\""}};
  if (const std::string quantity = quantity_of(type); !quantity.empty()) return {{quantity}, {"3", "3 apples", "-1 s", "[3]"}};
  if (type == "amount ≥ 1") return {{"1", "2e9", "2T"}, {"0", "word", "[1, 2]"}};
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
