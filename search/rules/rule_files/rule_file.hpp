#pragma once
// Rules as files: YAML that says with which generator and axioms the rules were made, and that ends with a digest of all that it says.

#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "search/rules/language/rule.hpp"

namespace rules {

struct RuleFile {
  std::string generator;          // version that wrote it
  std::string axioms;             // hash of the axioms that it was proved with
  std::string digest;             // of the rest when it was written; "none": written by hand
  std::vector<Rule> rules;        // sources are the left sides
  std::vector<base::Mark> marks;  // where each rule stands
};

}  // namespace rules
