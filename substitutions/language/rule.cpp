#include "substitutions/language/rule.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

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

bool knows_its_sizes(const Term& source, std::span<const Variable> variables) {
  std::vector<std::string> sums;  // letters that an occurrence has the sum of
  for (const Node& n : source.nodes) {
    if (is_split(n.kind)) sums.push_back(letters_of(n.at).value_or(""));
    if (n.kind != Kind::variable) continue;
    const Types& t = variables[n.variable].types;
    for (std::size_t d = 0; d < t[0].rank; ++d) sums.push_back(letters_of(dim_size(t, d)).value_or(""));
  }
  std::set<char> known;
  const auto unknown_of = [&](const std::string& sum) {
    std::set<char> letters(sum.begin(), sum.end());
    std::erase_if(letters, [&](char c) { return known.contains(c); });
    return letters;
  };
  for (bool learnt = true; learnt;) {  // each sum identifies the one letter of it that is not known yet
    learnt = false;
    for (const std::string& sum : sums)
      if (const std::set<char> letters = unknown_of(sum); letters.size() == 1) learnt = known.insert(*letters.begin()).second || learnt;
  }
  return std::ranges::all_of(sums, [&](const std::string& sum) { return unknown_of(sum).empty(); });
}

std::string RuleNames::next(const Equation& e) {
  const RuleKind kind = kind_of(e);
  return fmt::format("{}{}", name_of(kind)[0], ++count_[static_cast<std::size_t>(kind)]);
}

}  // namespace substitutions
