#include "substitutions/language/rule.hpp"

#include <fmt/core.h>

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

std::string RuleNames::next(const Equation& e) {
  const RuleKind kind = kind_of(e);
  return fmt::format("{}{}", name_of(kind)[0], ++count_[static_cast<std::size_t>(kind)]);
}

}  // namespace substitutions
