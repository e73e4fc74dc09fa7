#pragma once
// The rules that a search over algebra asks: those that ship with the program, or those of a file that the user names in their place.

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "search/rules/language/rule.hpp"

namespace rules {
struct Selection;
}

namespace search {

struct GivenRules {
  std::filesystem::path file;                          // empty: none was named
  std::shared_ptr<const rules::Selection> of_file;     // those that a search wants; null: none was named
  bool operator==(const GivenRules&) const = default;  // of copies; what is loaded twice is not equal
};

// Returns the rules of a file, each proved, without those that no search over algebra wants.
// Throws: base::InputError with every problem of the file, or where it has no rule that is wanted.
// Cost: under 1 ms a rule, divided by the processors.
[[nodiscard]] GivenRules load_given_rules(const std::filesystem::path& file);

// Returns the rules of the file, where one was named, or those that ship. They live as long as `given`, or for ever.
[[nodiscard]] std::span<const rules::Rule> rules_to_ask(const GivenRules& given);

// "12 of the 30 rules of mine.yaml are asked; left out: 18 have layout operators". Requires: a file was named.
[[nodiscard]] std::string asked_text(const GivenRules& given);

}  // namespace search
