#pragma once
// Rules as files: YAML that says with which generator and axioms the rules were made, and that ends with a digest of all that it says.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "search/rules/axioms/axioms.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/proof/prove.hpp"

namespace rules {

struct RuleFile {
  std::string generator;          // version that wrote it
  std::string axioms;             // hash of the axioms that it was proved with
  std::string digest;             // of the rest when it was written; "none": written by hand
  std::vector<Rule> rules;        // sources are the left sides
  std::vector<base::Mark> marks;  // where each rule stands
};

// Return the rules of a file. They are well typed whatever their letters stand for, and the two sides have equal layouts; load_rules()
// verifies that they are true.
// Throw: base::InputError with every problem found.
[[nodiscard]] RuleFile parse_rules(std::string text, const std::string& name);
[[nodiscard]] RuleFile read_rules(const std::filesystem::path& file);

// Returns: the text of a rule file that this generator wrote with these axioms. Equal rules give equal bytes: the file has no times.
[[nodiscard]] std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms);
// Returns: why the file is not as this generator writes it from these axioms: "it was changed after it was written". Empty: it is so. White
// space, comments and the style of the YAML do not matter. This says where a file may come from, not that it is true.
[[nodiscard]] std::string why_not_as_written(const RuleFile& file, const Axioms& axioms);

using RulesDone = std::function<void(std::size_t done)>;  // may be empty

// Returns: new proofs of all rules of a file, in order.
[[nodiscard]] std::vector<Proof> verify(const RuleFile& file, const Axioms& axioms, int processes, const RulesDone& progress);

// Returns: the rules of a file, each proved again; they name the axioms and the time of that proof.
// Throws: base::InputError naming every rule that is false or cannot be proved; nothing is loaded then.
// Cost: under 1 ms a rule, divided by the processes.
[[nodiscard]] std::vector<Rule> load_rules(RuleFile file, int processes, const RulesDone& progress = {});
[[nodiscard]] std::vector<Rule> load_rules(const std::filesystem::path& file, int processes);

// Returns: the conditions under which a rule applies, in words for people: "dim 1 of x = dim 0 of w", "d divides dim 0 of x", "d*e divides
// the number of key heads", "d: any degree from 2". Where the rule is applied to a tensor that is cut already, the degree there times the
// rule's must divide.
[[nodiscard]] std::vector<std::string> side_conditions(const Rule& rule);

}  // namespace rules
