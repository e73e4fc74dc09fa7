#include "generated.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "rules.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"

namespace rules::rewriting {
namespace {

bool has_something_to_be_found_by(const Term& source) {
  return std::ranges::none_of(source.outputs, [&](std::uint8_t o) { return source.nodes[o].kind == Kind::variable; });
}

bool is_of_relu(const Term& t) {
  return std::ranges::all_of(t.nodes, [](const Node& n) { return n.function == Function::none || n.function == Function::relu; });
}

std::vector<Rule> directed(const std::vector<Equation>& equations) {
  std::vector<Rule> rules;
  for (const Equation& e : equations)
    for (const bool forward : {true, false}) {
      Rule r{.name = fmt::format("g{}", rules.size()), .equation = TypedEquation::make(e).value(), .forward = forward, .axioms = {}};
      if (has_something_to_be_found_by(r.source()) && invents_nothing(r) && knows_its_sizes(r.source(), e.variables))
        rules.push_back(std::move(r));
    }
  return rules;
}

}  // namespace

const std::vector<Rule>& generated() {
  static const std::vector<Rule> all = [] {
    std::vector<Equation> equations;
    for (const Rule& r : builtin_rules()) {
      const Equation& e = r.equation.statement();
      if (is_of_relu(e.left) && is_of_relu(e.right) && (equations.empty() || equations.back() != e)) equations.push_back(e);
    }
    return directed(equations);
  }();
  return all;
}

}  // namespace rules::rewriting
