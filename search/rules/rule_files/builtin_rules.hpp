#pragma once
// The rules that ship with the program: all that generate() finds with its defaults. They are read from a text that is compiled in
// (builtin_rules.txt), because to generate and prove them takes seconds. A test generates and proves them again and compares every byte, so
// no rule is among them that this source does not prove.
//
// The text has one equation a line, which reads faster than YAML and shows in a diff which rules came and went. Names are not in it: they
// are numbers in the order of the lines.
//
//   x: [m, k] | w: [k, n] | linear(x, w) <=> reduce[d](linear(partition[1, d](x), partition[0, d](w))) | linear.partition_inner
//
// The sign says which sides are sources: "=>" the left one, "<=" the right one, "<=>" each. Names of axioms end the line.

#include <string_view>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// Returns: the rules, with the names that generate() gives them and without times of proofs. Read once per process, by whichever thread is
// first.
// Cost: docs/benchmarks.md; O(1) from the second call on.
[[nodiscard]] const std::vector<Rule>& builtin_rules();

// Returns: the text that they are read from, as a test writes it; `make rules` renews the file.
[[nodiscard]] std::string_view text_of_builtin_rules();

// Returns: the rules of such a text. Nothing is proved, so it is for the text that ships alone: a test holds that against rules which are
// generated and proved anew. Fails a check where the text is cut off or was changed by hand.
// Cost: some 5 us a rule.
[[nodiscard]] std::vector<Rule> read_builtin_rules_text(std::string_view text);

}  // namespace rules
