// The catalogue is no island: the shipped axioms prove each of its rules, and the generator's rules say them all, one or two for each.
#include <doctest/doctest.h>

#include <algorithm>

#include "generated.hpp"
#include "rules.hpp"
#include "search/rules/generation/prune.hpp"
#include "search/rules/proof/prove.hpp"

namespace rules::rewriting {
namespace {

TEST_CASE("every rule of the catalogue is proved from the shipped axioms") {
  Prover prover(axioms());
  for (const auto& [name, rule] : catalogue()) {
    CAPTURE(name);
    CHECK(prover.prove(rule.equation).verdict == Verdict::proved);
  }
}

// Nothing is known of any function, so what generated() says of relu holds of all.
Equation with_relu(Equation e) {
  for (Term* t : {&e.left, &e.right})
    for (Node& n : t->nodes)
      if (n.function != Function::none) n.function = Function::relu;
  return e;
}

// Is it, up to names, one of the generator's equations, or a special case of one?
bool is_implied(const Rule& rule) {
  static const std::vector<Joint> general = [] {
    std::vector<Joint> all;
    for (const Rule& r : generated()) all.push_back(join(r.equation));
    return all;
  }();
  const Joint wanted = join(with_relu(rule.equation));
  return std::ranges::any_of(general, [&](const Joint& g) { return instance(g, wanted).has_value(); });
}

// C2 has four operators on one side, more than the generator tries: its result is combined and cut again, or the two cancel, by two rules.
std::vector<Rule> steps_of(const Rule& r) {
  if (!r.name.starts_with("C2")) return {r};
  return {rule("A2 columns", "y: [m, n/d]", "partition[1, d](combine[1, d](y))", "y"),
          rule("sharded", "x: [m, k]; w: [k, n]; b: [n]",
               "combine[1, d](linear_bias(replicate[d](x), partition[1, d](w), partition[0, d](b)))", "linear_bias(x, w, b)")};
}

// The matcher takes operands of an addition in either order: no rule has to say F0. Of a variable whose size is a sum the generator knows
// nothing, it splits only what it has joined: G4, and the parts of a tensor put together again.
bool is_missing(const std::string& name) { return name.starts_with("F0") || name.starts_with("G4") || name == "split and concat"; }

TEST_CASE("every rule of the catalogue that has an operator to be found by is one of the generator's, or two") {
  for (const auto& [name, rule] : catalogue()) {
    CAPTURE(name);
    if (rule.source().operators() == 0 || is_missing(name)) continue;
    for (const Rule& step : steps_of(rule)) CHECK(is_implied(step));
  }
}

}  // namespace
}  // namespace rules::rewriting
