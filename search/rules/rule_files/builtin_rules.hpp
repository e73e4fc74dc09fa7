#pragma once
// The rules that ship with the program: all that generate() finds with its defaults. They are read from a text that is compiled in
// (builtin_rules.txt), because to generate and prove them takes seconds. A test generates and proves them again and compares every byte, so
// no rule is among them that this source does not prove. Nothing else is taken on trust: rules of a file that a user names are proved
// whenever they are loaded (load_rules.hpp).

#include <string_view>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// Returns the rules, with the names that generate() gives them and without times of proofs. Read once per process, by whichever thread is
// first. Cost: docs/benchmarks.md; O(1) from the second call on.
[[nodiscard]] const std::vector<Rule>& builtin_rules();

// Returns the text that they are read from, as builtin_rules_text() writes it. `foreshard rules generate --write-builtin` renews the file.
[[nodiscard]] std::string_view text_of_builtin_rules();

}  // namespace rules
