#pragma once
// The options of a planner, described once: files are read by these descriptions, and `show planners` and docs/formats/plans.md show them.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "base/fact.hpp"
#include "base/yaml/reader.hpp"
#include "search/problem/budget.hpp"
#include "search/rules/language/rule.hpp"

namespace rules {
struct Selection;
}

namespace search {

// The rules that a search over algebra asks: those that ship with the program, or those of a file that the user names in their place.
struct GivenRules {
  std::filesystem::path file;                          // empty: none was named
  std::shared_ptr<const rules::Selection> of_file;     // those that a search wants; null: none was named
  bool operator==(const GivenRules&) const = default;  // of copies; what is loaded twice is not equal
};

// Returns: the rules of a file, each proved, without those that no search over algebra wants.
// Throws: base::InputError with every problem of the file, or where it has no rule that is wanted.
// Cost: under 1 ms a rule, divided by the processors.
[[nodiscard]] GivenRules load_given_rules(const std::filesystem::path& file);

// Returns: the rules of the file, where one was named, or those that ship. They live as long as `given`, or for ever.
[[nodiscard]] std::span<const rules::Rule> rules_to_ask(const GivenRules& given);

// Returns: the number of the file's rules that are asked, of all, the file, and the numbers that are left out, by rules::LeftOut.
// Requires: a file was named.
[[nodiscard]] base::Fact rules_asked(const GivenRules& given);

// A default outside the range means "not given"; the option's `otherwise` then says what happens.
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
  Effort by_default;
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
  std::vector<std::string> words;            // that may take the place of the list
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
// One value or a list of those that a search may choose among: of these words, or else whole numbers. By default none is given, and all may
// be chosen.
struct AllowedValues {
  std::vector<std::string> words = {};
  std::int64_t least = 1, most = INT32_MAX;
  std::vector<std::int64_t> by_default = {};
};
// The name of a rule file, seen from the folder of the file that names it. By default none is given; the option's `otherwise` says what
// happens then.
struct RulesOfFile {
  GivenRules by_default = {};
};
using OptionType =
    std::variant<WholeNumber, RealNumber, Flag, Choice, Duration, WholeNumbers, Flags, ChoiceOrParts, AllowedValues, RulesOfFile>;

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

// The values of a planner's options: what a file gives, and the defaults of the rest.
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
  [[nodiscard]] const Effort& effort(std::string_view key) const { return get<Effort>(key); }
  [[nodiscard]] const NumbersOrWord& whole_numbers(std::string_view key) const { return get<NumbersOrWord>(key); }
  [[nodiscard]] const PartsChosen& parts(std::string_view key) const { return get<PartsChosen>(key); }
  // Numbers, or indices of words, as the file lists them.
  [[nodiscard]] const std::vector<std::int64_t>& allowed(std::string_view key) const { return get<std::vector<std::int64_t>>(key); }
  // Words that the file gives.
  [[nodiscard]] const NamedFlags& flags(std::string_view key) const { return get<NamedFlags>(key); }
  [[nodiscard]] const GivenRules& rules(std::string_view key) const { return get<GivenRules>(key); }

  // Gives the two options of limits.
  // Requires: they are described (with_limits()).
  void limit(const SearchLimits& limits);

  bool operator==(const OptionValues&) const = default;

 private:
  friend class OptionReader;
  using Value = std::variant<std::int64_t, double, bool, std::size_t, Effort, NumbersOrWord, NamedFlags, PartsChosen,
                             std::vector<std::int64_t>, GivenRules>;

  template <class T>
  [[nodiscard]] const T& get(std::string_view key) const {
    const auto at = values_.find(key);
    BASE_CHECK(at != values_.end() && std::holds_alternative<T>(at->second), "no option {} of this type is described", key);
    return std::get<T>(at->second);
  }
  void give(const std::string& key, Value value);

  std::map<std::string, Value, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

// An option that contradicts another.
struct OptionProblem {
  std::string key, message, hint;
};

// Reads every option of the description from a map; what is wrong goes to the map's sink. Files are named from `directory`, and read and
// checked here. Asks for no other key and does not finish the map.
[[nodiscard]] OptionValues read_options(base::MapReader& in, std::span<const Option> options, const std::filesystem::path& directory);

// The two options that every planner that searches has: `budget` and `candidates`.
// Returns: both, and the planner's own after them. `counted`: what counts as a candidate, in the plural.
[[nodiscard]] std::vector<Option> with_limits(const Effort& budget, const std::string& counted, std::vector<Option> own);
// `space`, of planners that a publication describes: all that there is here, or what it searches and nothing else.
[[nodiscard]] Option space_option();
[[nodiscard]] inline bool is_of_paper(const OptionValues& o) { return o.choice("space") == 1; }
// The first of these options that is given, though the publication leaves no choice of it.
[[nodiscard]] std::optional<OptionProblem> beyond_paper(const OptionValues& o, std::initializer_list<std::string_view> keys);
// Requires: the values are of options with limits. Without GPUs a default budget is its least.
[[nodiscard]] SearchLimits limits_of(const OptionValues& values, int gpus = 0);

}  // namespace search
