// Every rule is found in its own source, and what it makes of it means the same: terms and parallel computation graphs agree on typing and
// on meaning, for the catalogue and for everything that the generator finds.
#include <doctest/doctest.h>

#include <fmt/core.h>

#include <map>

#include "generated.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/matching/pattern.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

struct PlantedTally {
  int applied = 0;
  std::map<std::string, int> never;  // no graph has its source: how many, by reason
  std::string problems;
};

void hold_against_graph(const Rule& rule, PlantedTally& tally) {
  const auto complain = [&](const std::string& what) {
    tally.problems += fmt::format("{}: {} => {}: {}\n", rule.name, to_text(rule.source(), rule.equation.variables()),
                                  to_text(rule.target(), rule.equation.variables()), what);
  };
  if (const base::Attempt<Pattern> p = compile(rule); !p) {
    ++tally.never[p.refusal().why];
    return;
  }
  const std::optional<pcg::Pcg> g = planted(std::span(&rule, 1));
  if (!g) return complain("cannot be planted");
  const Matcher matcher(std::span(&rule, 1), *g);
  if (matcher.matches().empty()) return complain("not found in its own source");
  const auto meaning = pcg::evaluate(*g, 1, 3);
  const auto shapes = result_shapes(*g);
  std::string reason;
  bool applied = false;
  for (const Match& m : matcher.matches()) {
    const std::vector<int> degrees{2, 2};
    const auto next = apply(rule, m, *g, degrees);
    if (!next) {
      reason = next.refusal().why;
      continue;
    }
    applied = true;
    if (result_shapes(next->graph) != shapes) complain("has other shapes");
    if (pcg::evaluate(next->graph, 1, 3) != meaning) complain("means something else");
  }
  if (applied) ++tally.applied;
  else complain(reason);
}

std::string to_text(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [reason, count] : counts) text += fmt::format("; {}: {}", reason, count);
  return text;
}

TEST_CASE("every rule of the catalogue applies to its own source") {
  PlantedTally tally;
  for (const auto& [name, rule] : catalogue())
    if (rule.source().operators() > 0) hold_against_graph(rule, tally);
  CHECK(tally.problems == "");
  CHECK(tally.never.empty());
  MESSAGE(fmt::format("{} applied", tally.applied));
}

TEST_CASE("every rule of the generator applies to its own source, but for those that no graph has") {
  PlantedTally tally;
  for (const Rule& r : generated()) hold_against_graph(r, tally);
  CHECK(tally.problems == "");
  // What is left speaks of constants, of kernels that are enlarged, of sums that leave a number, of several dropouts, or of two operators
  // that share no tensor: any two of a graph.
  int never = 0;
  for (const auto& [reason, count] : tally.never) never += count;
  CHECK(tally.never.size() <= 8);
  CHECK(never <= 220);
  MESSAGE(fmt::format("{} of {} applied{}", tally.applied, generated().size(), to_text(tally.never)));
}

}  // namespace
}  // namespace rules::rewriting
