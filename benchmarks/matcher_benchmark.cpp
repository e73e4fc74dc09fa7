// Rules at work on Inception-v3: all occurrences of some 2,000 rules, and what is looked at again after one rewrite.

#include <benchmark/benchmark.h>

#include <stdexcept>

#include "pcg/models/models.hpp"
#include "search/substitutions/enumerate.hpp"
#include "search/substitutions/matcher.hpp"
#include "search/substitutions/prune.hpp"

namespace {

using namespace substitutions;

constexpr std::size_t kRules = 2000;

// Both directions of what the generator finds of two operators, as far as they invent nothing, again and again up to kRules; not proved,
// which does not matter here.
std::vector<Rule> rules() {
  std::vector<Equation> equations;
  for (const Setting& s : settings())
    for (Equation& e : enumerate(s, 2).equations) equations.push_back(std::move(e));
  std::vector<Rule> result;
  const auto add = [&](const Equation& e, bool forward) {
    Rule r{.name = "r" + std::to_string(result.size()), .equation = e, .forward = forward, .axioms = {}};
    std::vector<bool> there(e.variables.size());
    for (const Node& n : r.source().nodes)
      if (n.kind == Kind::variable) there[n.variable] = true;
    for (const Node& n : r.target().nodes)
      if (n.kind == Kind::variable && !there[n.variable]) return;
    if (r.source().operators() > 0) result.push_back(std::move(r));
  };
  for (const Equation& e : prune(std::move(equations)).equations) {
    add(e, true);
    add(e, false);
  }
  const std::size_t distinct = result.size();
  while (result.size() < kRules) result.push_back(result[result.size() - distinct]);
  return result;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> all = rules();
  return all;
}

// On two devices, the samples cut: so there are parallel operators to match, too.
pcg::Pcg inception() {
  const pcg::Graph g = pcg::models::builtin("inception-v3", 64);
  std::vector<pcg::Sharding> shardings;
  for (const pcg::GraphNode& n : g.nodes()) {
    std::vector<pcg::TensorShape> inputs;
    for (pcg::TensorRef t : n.inputs) inputs.push_back(g.shape(t));
    const pcg::IterationSpace space = pcg::iteration_space(n.op, inputs);
    shardings.push_back(pcg::unsharded(space));
    const int samples = pcg::find_loop(space, inputs.empty() ? "d0" : "b");
    if (samples >= 0 && !std::holds_alternative<pcg::Weight>(n.op)) shardings.back().degrees[static_cast<std::size_t>(samples)] = 2;
  }
  return pcg::parallelize(g, shardings);
}

void count(benchmark::State& state, const pcg::Pcg& g, std::size_t matches) {
  std::size_t operators = 0;
  for (const pcg::PcgNode& n : g.nodes()) operators += n.is_source() ? 0 : 1;
  state.counters["rules"] = static_cast<double>(all_rules().size());
  state.counters["operators"] = static_cast<double>(operators);
  state.counters["matches"] = static_cast<double>(matches);
}

// Rules made ready, the graph indexed, all occurrences found.
void first_index(benchmark::State& state) {
  const pcg::Pcg g = inception();
  std::size_t matches = 0;
  (void)all_rules();
  for ([[maybe_unused]] auto _ : state) matches = Matcher(all_rules(), g).matches().size();
  count(state, g, matches);
}

// The same with rules made ready before.
void match_all(benchmark::State& state) {
  const pcg::Pcg g = inception();
  Matcher matcher(all_rules(), g);
  for ([[maybe_unused]] auto _ : state) matcher.restart(g);
  count(state, g, matcher.matches().size());
}

// A rewrite in the middle of the graph, there and back again so that each is one update.
void update_after_one_rewrite(benchmark::State& state) {
  const pcg::Pcg g = inception();
  Matcher matcher(all_rules(), g);
  const std::vector<int> degrees{2, 2};
  std::optional<Rewritten> there;
  for (std::size_t i = matcher.matches().size() / 2; !there && i < matcher.matches().size(); ++i) {
    const Match& m = matcher.matches()[i];
    there = apply(all_rules()[m.rule], m, g, degrees);
  }
  if (!there) throw std::runtime_error("no rule applies");
  std::vector<std::optional<pcg::NodeId>> back(there->graph.nodes().size());
  std::vector<pcg::NodeId> again;
  for (std::size_t n = 0; n < there->renumbered.size(); ++n) {
    if (there->renumbered[n]) back[there->renumbered[n]->value] = pcg::NodeId(n);
    else again.emplace_back(n);
  }
  for ([[maybe_unused]] auto _ : state) {
    matcher.update(there->graph, there->fresh, there->renumbered);
    matcher.update(g, again, back);
  }
  count(state, g, matcher.matches().size());
  state.SetItemsProcessed(2 * state.iterations());  // updates
}

void apply_one(benchmark::State& state) {
  const pcg::Pcg g = inception();
  const Matcher matcher(all_rules(), g);
  const std::vector<int> degrees{2, 2};
  std::size_t i = 0, applied = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Match& m = matcher.matches()[i];
    applied += apply(all_rules()[m.rule], m, g, degrees) ? 1 : 0;
    i = (i + 7919) % matcher.matches().size();
  }
  count(state, g, matcher.matches().size());
  state.counters["applied"] = static_cast<double>(applied) / static_cast<double>(state.iterations());
}

}  // namespace

BENCHMARK(first_index)->Unit(benchmark::kMillisecond);
BENCHMARK(match_all)->Unit(benchmark::kMillisecond);
BENCHMARK(update_after_one_rewrite)->Unit(benchmark::kMillisecond);
BENCHMARK(apply_one)->Unit(benchmark::kMillisecond);
