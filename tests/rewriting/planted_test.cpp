// Every rule is found in its own source, and what it makes of it means the same: terms and parallel computation graphs agree on typing and
// on meaning, for the catalogue and for everything that the generator finds of two operators.
#include <doctest/doctest.h>

#include <fmt/core.h>

#include <algorithm>

#include "pcg/evaluator.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "search/substitutions/enumerate.hpp"
#include "search/substitutions/pattern.hpp"
#include "search/substitutions/prune.hpp"

namespace substitutions::rewriting {
namespace {

struct Tally {
  int applied = 0, no_pcg = 0;
  std::string problems;
};

void hold_against_graph(const Rule& rule, Tally& tally) {
  const auto complain = [&](const std::string& what) {
    tally.problems += fmt::format("{}: {} => {}: {}\n", rule.name, to_text(rule.source(), rule.equation.variables),
                                  to_text(rule.target(), rule.equation.variables), what);
  };
  const std::optional<pcg::Pcg> g = compile(rule) ? planted(std::span(&rule, 1)) : std::nullopt;
  if (!g) {
    ++tally.no_pcg;
    return;
  }
  const Matcher matcher(std::span(&rule, 1), *g);
  if (matcher.matches().empty()) return complain("not found in its own source");
  const auto meaning = pcg::evaluate(*g, 1, 3);
  std::string reason;
  bool applied = false;
  for (const Match& m : matcher.matches()) {
    Refusal why;
    const std::vector<int> degrees{2, 2};
    const auto next = apply(rule, m, *g, degrees, &why);
    if (!next) {
      reason = why.reason;
      continue;
    }
    applied = true;
    if (pcg::evaluate(next->graph, 1, 3) != meaning) complain("means something else");
  }
  if (applied) ++tally.applied;
  else complain(reason);
}

bool invents(const Rule& r) {
  return std::ranges::any_of(r.target().nodes, [&](const Node& n) {
    return n.kind == Kind::variable &&
           std::ranges::none_of(r.source().nodes, [&](const Node& m) { return m.kind == Kind::variable && m.variable == n.variable; });
  });
}

TEST_CASE("every rule of the catalogue applies to its own source") {
  Tally tally;
  for (const auto& [name, rule] : catalogue())
    if (rule.source().operators() > 0) hold_against_graph(rule, tally);
  CHECK(tally.problems == "");
  CHECK(tally.no_pcg == 2);  // attention, in both directions: heads
  MESSAGE(fmt::format("{} applied", tally.applied));
}

TEST_CASE("every equation of two operators, in both directions") {
  std::vector<Equation> equations;
  for (const Setting& s : settings())
    for (Equation& e : enumerate(s, 2).equations) equations.push_back(std::move(e));
  Tally tally;
  int rules = 0;
  for (const Equation& e : prune(std::move(equations)).equations)
    for (bool forward : {true, false}) {
      const Rule rule{.name = fmt::format("r{}", rules), .equation = e, .forward = forward, .axioms = {}};
      if (invents(rule) || rule.source().operators() == 0) continue;
      ++rules;
      hold_against_graph(rule, tally);
    }
  CHECK(tally.problems == "");
  MESSAGE(fmt::format("{} of {} applied, {} speak of what no graph has", tally.applied, rules, tally.no_pcg));
}

}  // namespace
}  // namespace substitutions::rewriting
