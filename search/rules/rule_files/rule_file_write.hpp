#pragma once
// Rules as the YAML of a rule file, and the digest that ends it.

#include <string>
#include <vector>

#include "search/rules/axioms/axioms.hpp"
#include "search/rules/rule_files/rule_file.hpp"

namespace rules {

// Returns the text of a rule file that this generator wrote with these axioms. Equal rules give equal bytes: the file has no times.
[[nodiscard]] std::string to_text(const std::vector<Rule>& rules, const Axioms& axioms);
// Returns the digest of what the file says. White space, comments and the style of the YAML do not matter.
[[nodiscard]] std::string digest_of(const RuleFile& file);

}  // namespace rules
