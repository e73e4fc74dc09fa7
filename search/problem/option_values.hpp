#pragma once
// The values of a planner's options: what a file gives, and the defaults of the rest.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/yaml/reader.hpp"
#include "search/problem/option.hpp"

namespace search {

class OptionValues {
 public:
  // Every option at its default.
  explicit OptionValues(std::span<const Option> options);

  // Whether the file gives the option.
  [[nodiscard]] bool given(std::string_view key) const { return given_.contains(key); }
  // Require: the description has an option of that key and type; for choice(), the result is the index of the word.
  [[nodiscard]] std::int64_t whole_number(std::string_view key) const { return get<std::int64_t>(key); }
  [[nodiscard]] double real_number(std::string_view key) const { return get<double>(key); }
  [[nodiscard]] bool flag(std::string_view key) const { return get<bool>(key); }
  [[nodiscard]] std::size_t choice(std::string_view key) const { return get<std::size_t>(key); }
  [[nodiscard]] base::Seconds duration(std::string_view key) const { return get<base::Seconds>(key); }
  [[nodiscard]] const NumbersOrWord& whole_numbers(std::string_view key) const { return get<NumbersOrWord>(key); }
  [[nodiscard]] const PartsChosen& parts(std::string_view key) const { return get<PartsChosen>(key); }
  // Those that the file gives.
  [[nodiscard]] const NamedFlags& flags(std::string_view key) const { return get<NamedFlags>(key); }
  [[nodiscard]] const GivenRules& rules(std::string_view key) const { return get<GivenRules>(key); }

  bool operator==(const OptionValues&) const = default;

 private:
  friend class OptionReader;
  using Value = std::variant<std::int64_t, double, bool, std::size_t, base::Seconds, NumbersOrWord, NamedFlags, PartsChosen, GivenRules>;

  template <class T>
  [[nodiscard]] const T& get(std::string_view key) const;
  void give(const std::string& key, Value value);

  std::map<std::string, Value, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

// What options ask of each other: one that contradicts another.
struct OptionProblem {
  std::string key, message, hint;
};

// Reads every option of the description from a map; what is wrong goes to the map's sink. Files are named from `directory`, and read and
// checked here. Asks for no other key and does not finish the map.
[[nodiscard]] OptionValues read_options(base::MapReader& in, std::span<const Option> options, const std::filesystem::path& directory);

}  // namespace search
