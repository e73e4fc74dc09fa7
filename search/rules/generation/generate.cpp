#include "search/rules/generation/generate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "search/rules/generation/prune.hpp"

namespace rules {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Graphs are enumerated with relu alone: nothing is known of any function, so what holds of one holds of all.
void with_function(Term& t, Function f) {
  for (Node& n : t.nodes)
    if (n.function == Function::relu) n.function = f;
}
// Has an operator a function of its result built in?
bool applies_one(const Term& t) {
  return std::ranges::any_of(t.nodes, [](const Node& n) { return n.kind != Kind::unary && n.function != Function::none; });
}
// Requires: the equations are well typed.
std::vector<TypedEquation> for_all_functions(const std::vector<Equation>& equations) {
  std::vector<TypedEquation> all;
  for (const Equation& e : equations) {
    all.push_back(TypedEquation::make(e).value());
    for (const Function f : {Function::gelu, Function::tanh, Function::sigmoid, Function::silu, Function::relu2}) {
      if (!is_built_in(f) && (applies_one(e.left) || applies_one(e.right))) continue;
      Equation other = e;
      with_function(other.left, f);
      with_function(other.right, f);
      if (other.left != e.left || other.right != e.right) all.push_back(TypedEquation::make(std::move(other)).value());
    }
  }
  return all;
}

// Something to be found by, and all that the target needs.
bool is_rule(const Term& source, const Term& target, const std::vector<Variable>& variables) {
  return std::ranges::none_of(source.outputs, [&](std::uint8_t o) { return source.nodes[o].kind == Kind::variable; }) &&
         uses_all_of(source, target) && knows_its_sizes(source, variables);
}

std::vector<Rule> rules_from(const std::vector<TypedEquation>& equations, const std::vector<Proof>& proofs) {
  std::vector<Rule> rules;
  RuleNames names;
  for (std::size_t i = 0; i < equations.size(); ++i) {
    const TypedEquation& e = equations[i];
    if (proofs[i].verdict != Verdict::proved) continue;
    for (const bool forward : {true, false}) {
      if (!forward && is_symmetric(join(e))) continue;
      if (!(forward ? is_rule(e.left(), e.right(), e.variables()) : is_rule(e.right(), e.left(), e.variables()))) continue;
      rules.push_back({.name = names.next(e), .equation = e, .forward = forward, .axioms = proofs[i].axioms, .proof_s = proofs[i].seconds});
    }
  }
  return rules;
}

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Setting& s : settings())
    if (std::ranges::find(names, s.family) == names.end()) names.push_back(s.family);
  return names;
}

Generated generate(const GenerateConfig& config) {
  Generated result;
  GenerateStatistics& s = result.statistics;
  const auto report = [&](const std::string& text) {
    if (config.progress) config.progress(text);
  };
  const Clock::time_point start = Clock::now();
  std::vector<Equation> found;
  for (const Setting& setting : settings()) {
    if (!config.families.empty() && std::ranges::find(config.families, setting.family) == config.families.end()) continue;
    if (setting.use != SettingUse::enumerate) {
      std::ranges::move(setting.use == SettingUse::shard ? sharded_forms(setting) : pairs_of_graphs(setting), std::back_inserter(found));
      continue;
    }
    Enumerated e = enumerate(setting, config.operators + setting.more);
    s.graphs += e.graphs;
    s.classes += e.classes;
    std::ranges::move(e.equations, std::back_inserter(found));
    report(fmt::format("{}: {} graphs, {} pairs", setting.family, s.graphs, found.size()));
  }
  s.pairs = static_cast<std::int64_t>(found.size());
  Pruned pruned = prune(found);
  s.renamed = pruned.renamed;
  s.common = pruned.common;
  s.implied = pruned.implied;
  const std::vector<TypedEquation> equations = for_all_functions(pruned.equations);
  s.enumerate_s = seconds_since(start);
  report(fmt::format("{} pairs are new, {} with every function", pruned.equations.size(), equations.size()));

  const Clock::time_point proving = Clock::now();
  const std::vector<Proof> proofs = prove_all(axioms(), equations, config.processes, [&](std::size_t done) {
    if (done % 500 == 0) report(fmt::format("{} of {} proofs", done, equations.size()));
  });
  s.prove_s = seconds_since(proving);
  s.refuted = pruned.refuted;
  for (std::size_t i = 0; i < equations.size(); ++i)
    if (proofs[i].counterexample) ++s.refuted;
    else if (proofs[i].verdict == Verdict::open) result.unproved.push_back(equations[i]);
  s.unproved = std::ssize(result.unproved);
  result.rules = rules_from(equations, proofs);
  return result;
}

}  // namespace rules
