#include "substitutions/language/rule.hpp"

namespace substitutions {

RuleKind kind_of(const Equation& e) {
  bool layout = false, algebra = false;
  for (const Term* t : {&e.left, &e.right})
    for (const Node& n : t->nodes)
      if (n.kind != Kind::variable) (is_layout(n.kind) ? layout : algebra) = true;
  return !layout ? RuleKind::algebraic : algebra ? RuleKind::hybrid : RuleKind::parallel;
}

std::string_view name_of(RuleKind k) {
  switch (k) {
    case RuleKind::algebraic: return "algebraic";
    case RuleKind::parallel: return "parallel";
    case RuleKind::hybrid: return "hybrid";
  }
  return "";
}

}  // namespace substitutions
