#pragma once
// Equations between terms, and the substitutions (directed rules) that proved ones give.

#include <string>
#include <vector>

#include "substitutions/language/term.hpp"

namespace substitutions {

// Both sides are well typed over the variables, their outputs have equal types, one by one.
struct Equation {
  std::vector<Variable> variables;
  Term left, right;
};

enum class RuleKind { algebraic, parallel, hybrid };  // no layout operators; nothing else; both
[[nodiscard]] RuleKind kind_of(const Equation& e);
[[nodiscard]] std::string_view name_of(RuleKind k);

// One direction of a proved equation: an occurrence of `source` may be replaced by `target`. Every variable of the target is in the source,
// so nothing has to be invented. When it is applied, both sides are typed in the context (sizes, layouts) that it is applied in: that is
// where the conditions on shapes and degrees are checked (matcher.hpp).
struct Rule {
  std::string name;  // "a17", "p3", "h120": stable for equal generator versions
  Equation equation;
  bool forward = true;              // source is equation.left
  std::vector<std::string> axioms;  // names of those that the proof used
  double proof_s = 0;
  [[nodiscard]] const Term& source() const { return forward ? equation.left : equation.right; }
  [[nodiscard]] const Term& target() const { return forward ? equation.right : equation.left; }
};

}  // namespace substitutions
