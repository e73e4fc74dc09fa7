#pragma once
// Equations from one line: "x: [m, k] | w: [k, n] | linear(x, w) = linear(x, w)".

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "search/rules/language/rule.hpp"
#include "search/rules/language/text.hpp"

inline std::vector<rules::Variable> variables(std::initializer_list<std::string_view> texts) {
  std::vector<rules::Variable> all;
  for (const std::string_view t : texts) all.push_back(rules::parse_variable(t));
  return all;
}

inline rules::Equation equation(std::string_view line) {
  rules::Equation e;
  for (std::size_t bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
    std::string_view text = line.substr(0, bar);
    while (text.ends_with(' ')) text.remove_suffix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    e.variables.push_back(rules::parse_variable(text));
    line.remove_prefix(bar + 1);
  }
  const std::size_t middle = line.find(" = ");
  e.left = rules::parse_term(line.substr(0, middle), e.variables);
  e.right = rules::parse_term(line.substr(middle + 3), e.variables);
  return e;
}
// Requires: both sides are well typed.
inline rules::TypedEquation typed(std::string_view line) { return rules::TypedEquation::make(equation(line)).value(); }
