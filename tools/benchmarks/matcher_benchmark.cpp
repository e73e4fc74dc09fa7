// Rules at work on Inception-v3: all occurrences of every rule that the generator finds, and rewrites there.

#include <benchmark/benchmark.h>

#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "search/rules/matching/matcher.hpp"
#include "search/rules/rewriting/apply.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"
#include "search/rules/selection/selection.hpp"

namespace {

using namespace rules;

// All rules, or those that a search over algebra wants.
enum Which { all, algebra };
const std::vector<Rule>& rules(int which) { return which == all ? builtin_rules() : builtin_algebraic_rules().rules; }

// On two devices, the samples cut: so there are parallel operators to match, too.
pcg::Pcg inception() {
  const pcg::Graph g = pcg::models::builtin("inception-v3", 64);
  std::vector<pcg::Sharding> shardings;
  for (const pcg::GraphNode& n : g.nodes()) {
    shardings.push_back(pcg::unsharded(*n.space));
    const int samples = pcg::find_loop(*n.space, n.inputs.empty() ? "d0" : "b");
    if (samples >= 0 && !std::holds_alternative<pcg::Weight>(n.op)) shardings.back().degrees[static_cast<std::size_t>(samples)] = 2;
  }
  return pcg::parallelize(g, shardings);
}

void count(benchmark::State& state, const pcg::Pcg& g, std::size_t matches) {
  const int which = static_cast<int>(state.range(0));
  std::size_t operators = 0;
  for (const pcg::PcgNode& n : g.nodes()) operators += n.is_source() ? 0 : 1;
  state.counters["rules"] = static_cast<double>(rules(which).size());
  state.counters["operators"] = static_cast<double>(operators);
  state.counters["matches"] = static_cast<double>(matches);
}

// What the first use of the rules costs a program.
void read_rules(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(read_builtin_rules_text(text_of_builtin_rules()));
  state.counters["rules"] = static_cast<double>(builtin_rules().size());
}

// Rules made ready, the graph indexed, all occurrences found.
void first_index(benchmark::State& state) {
  const pcg::Pcg g = inception();
  std::size_t matches = 0;
  const std::vector<Rule>& asked = rules(static_cast<int>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) matches = Matcher(asked, g).matches().size();
  count(state, g, matches);
}

// The same with rules made ready before.
void match_all(benchmark::State& state) {
  const pcg::Pcg g = inception();
  Matcher matcher(rules(static_cast<int>(state.range(0))), g);
  for ([[maybe_unused]] auto _ : state) matcher.restart(g);
  count(state, g, matcher.matches().size());
}

void apply_one(benchmark::State& state) {
  const pcg::Pcg g = inception();
  const Matcher matcher(rules(static_cast<int>(state.range(0))), g);
  const std::vector<Rule>& asked = rules(static_cast<int>(state.range(0)));
  const std::vector<int> degrees{2, 2};
  std::size_t i = 0, applied = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Match& m = matcher.matches()[i];
    applied += apply(asked[m.rule], m, g, degrees) ? 1 : 0;
    i = (i + 7919) % matcher.matches().size();
  }
  count(state, g, matcher.matches().size());
  state.counters["applied"] = static_cast<double>(applied) / static_cast<double>(state.iterations());
}

}  // namespace

BENCHMARK(read_rules)->Unit(benchmark::kMillisecond);
BENCHMARK(first_index)->Arg(all)->Arg(algebra)->Unit(benchmark::kMillisecond);
BENCHMARK(match_all)->Arg(all)->Arg(algebra)->Unit(benchmark::kMillisecond);
BENCHMARK(apply_one)->Arg(all)->Arg(algebra)->Unit(benchmark::kMillisecond);
