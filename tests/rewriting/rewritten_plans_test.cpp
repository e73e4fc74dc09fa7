// Models rewritten by algebraic rules and cut over devices: `foreshard check` finds that such plans compute what their models do, and finds
// faults in them.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <set>

#include "base/random.hpp"
#include "generated.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/parallelize.hpp"
#include "pcg/graph/serial.hpp"
#include "pcg/models/builtins.hpp"
#include "planted.hpp"

namespace substitutions::rewriting {
namespace {

using pcg::Graph;
using pcg::GraphNodeId;

// generated() has relu alone; what holds of it holds of every function.
const std::vector<Rule>& algebraic() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> some;
    for (const Rule& r : generated()) {
      if (kind_of(r.equation) != RuleKind::algebraic) continue;
      some.push_back(r);
      Equation e = r.equation;
      for (Term* t : {&e.left, &e.right})
        for (Node& n : t->nodes)
          if (n.function != Function::none) n.function = Function::gelu;
      if (e == r.equation) continue;
      if (auto typed = TypedEquation::make(std::move(e))) some.push_back({r.name, std::move(*typed), r.forward, {}});
    }
    return some;
  }();
  return rules;
}

// The model behind `steps` random rewrites, rules taken evenly; what was used is added to `used`.
Graph rewritten(const Graph& model, Matcher& matcher, int steps, base::Random& random, std::map<std::string, int>& used) {
  pcg::Pcg g = serial_pcg(model);
  matcher.restart(g);
  for (int step = 0, tries = 0; step < steps && tries < 20 * steps && !matcher.matches().empty(); ++tries) {
    std::map<std::size_t, std::vector<const Match*>> present;
    for (const Match& m : matcher.matches()) present[m.rule].push_back(&m);
    auto of_rule = present.begin();
    std::advance(of_rule, static_cast<std::ptrdiff_t>(random.below(present.size())));
    const Match& match = *of_rule->second[random.below(of_rule->second.size())];
    const Rule& rule = algebraic()[match.rule];
    base::Attempt<Rewritten> next = apply(rule, match, g, {});
    if (!next) continue;
    ++step;
    ++used[fmt::format("{} = {}", to_text(rule.source(), rule.equation.variables()), to_text(rule.target(), rule.equation.variables()))];
    g = std::move(next->graph);
    matcher.update(g, next->fresh, next->renumbered);
  }
  return pcg::serial(g);
}

// Everything cut by samples where that is lawful; `mixed`: here and there by another loop, or not at all.
pcg::Plan over_six(const Graph& g, bool mixed, base::Random& random) {
  std::vector<pcg::Sharding> all;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::GraphNode& node = g.nodes()[n];
    const std::vector<pcg::TensorShape> inputs = g.input_shapes(GraphNodeId(n));
    pcg::Sharding s = unsharded(*node.space);
    const auto cut = [&](std::size_t loop, int degree) {
      pcg::Sharding more = s;
      more.degrees[loop] = degree;
      if (!violation(*node.space, more, inputs, node.outputs)) s = more;
    };
    const bool other = mixed && random.below(4) == 0;
    if (other && !node.space->loops.empty()) cut(random.below(node.space->loops.size()), random.below(2) == 0 ? 2 : 3);
    if (!other || random.below(2) == 0)
      for (std::size_t l = 0; l < node.space->loops.size(); ++l)
        if (node.space->outputs[0].size() > 0 && node.space->outputs[0][0] == static_cast<int>(l) && s.degrees[l] == 1) cut(l, 6);
    all.push_back(s);
  }
  pcg::Plan plan;
  plan.pcg = parallelize(g, all);
  return plan;
}

constexpr const char* kModels[] = {"mlp-mnist", "mlp", "bert-large", "inception-v3", "dlrm", "xdl", "candle-uno", "resnext-50"};

TEST_CASE("builtin models behind random algebraic rewrites, cut over six devices, compute what they are") {
  Matcher matcher(algebraic(), pcg::Pcg());
  std::map<std::string, int> used;
  for (const char* name : kModels)
   for (int seed=0; seed < std::stoi(std::getenv("SEEDS")?std::getenv("SEEDS"):"1"); ++seed)
    for (const bool mixed : {false, true}) {
      base::Random random(17+seed);
      const Graph model = pcg::models::builtin(name, 12);
      const Graph after = rewritten(model, matcher, std::stoi(std::getenv("STEPS")?std::getenv("STEPS"):"40"), random, used);
      const pcg::Plan plan = over_six(after, mixed, random);
      const auto begun = std::chrono::steady_clock::now();
      const pcg::EquivalenceResult r = check_equivalence(plan, model, 3, 1);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      MESSAGE(fmt::format("{}{}: {} nodes, now {}: {:.2f} s", name, mixed ? " mixed" : "", model.nodes().size(), after.nodes().size(), seconds));
      CHECK_MESSAGE(r.equivalent, name, ": ", r.detail);
    }
  for (const auto& [rule, n] : used) MESSAGE(rule, " ", n);
}

}  // namespace
}  // namespace substitutions::rewriting
