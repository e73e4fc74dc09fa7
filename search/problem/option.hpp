#pragma once
// The options of a planner, described once: files are read by these descriptions, and `show planners` and docs/formats.md show them.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "search/problem/given_rules.hpp"

namespace search {

// A default outside the range stands for "not given"; the option's `otherwise` then says what happens.
struct WholeNumber {
  std::int64_t least = 1, most = INT64_MAX;
  std::int64_t by_default = 1;
};
struct RealNumber {
  double least = 0, most = 1e308;
  double by_default = 0;
};
struct Flag {
  bool by_default = false;
};
struct Choice {
  std::vector<std::string> words;
  std::size_t by_default = 0;  // index of a word
};
struct Duration {
  base::Seconds by_default;
};
// A list of whole numbers; both empty: not given.
struct NumbersOrWord {
  std::vector<std::int64_t> numbers;
  std::string word;  // in place of the list
  bool operator==(const NumbersOrWord&) const = default;
};
// By default not given; the option's `otherwise` says what happens then.
struct WholeNumbers {
  std::int64_t least = 1, most = INT64_MAX;  // of each
  std::vector<std::string> words;            // that may stand in place of the list
  NumbersOrWord by_default = {};
};
// Words, each true or false.
using NamedFlags = std::map<std::string, bool>;
// By default none is given; the option's `otherwise` says what happens then.
struct Flags {
  std::vector<std::string> words;
  NamedFlags by_default = {};
};
// A word, or a map that names parts in its place: `{modules: [..], blocks: n}`, of which one may be left out; modules from these words.
struct PartsChosen {
  std::size_t word = 0;  // index; of the words' first where parts are named
  std::int64_t blocks = 0;
  std::vector<std::size_t> modules;  // indices, ascending
  bool operator==(const PartsChosen&) const = default;
};
struct ChoiceOrParts {
  std::vector<std::string> words, modules;
  PartsChosen by_default = {};
};
// The name of a rule file, seen from the folder of the file that names it. By default none is given; the option's `otherwise` says what
// happens then.
struct RulesOfFile {
  GivenRules by_default = {};
};
using OptionType = std::variant<WholeNumber, RealNumber, Flag, Choice, Duration, WholeNumbers, Flags, ChoiceOrParts, RulesOfFile>;

struct Option {
  std::string key;
  OptionType type;
  std::string help;
  std::string otherwise = {};  // replaces the default's text where the default depends on something: "what is left of the devices"
};

// "integer ≥ 1", "number 0 to 1", "boolean", "`none` `full`", "time", "list of integers ≥ 1, or `balanced`".
[[nodiscard]] std::string type_text(const Option& o);
// "`false`", "60 s", or the option's `otherwise`.
[[nodiscard]] std::string default_text(const Option& o);

}  // namespace search
