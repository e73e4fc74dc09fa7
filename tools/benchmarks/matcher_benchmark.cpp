// Rules at work on Inception-v3: all occurrences of every rule that the generator finds, and what is looked at again after one rewrite.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

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

// A rewrite, and how node numbers go back.
struct There {
  Rewritten rewritten;
  std::vector<pcg::NodeId> again;
  std::vector<std::optional<pcg::NodeId>> back;
};
std::vector<There> rewrites(const std::vector<Rule>& asked, const Matcher& matcher, const pcg::Pcg& g) {
  const std::vector<int> degrees{2, 2};
  std::vector<There> result;
  for (std::size_t i = 0; i < matcher.matches().size(); i += std::max<std::size_t>(1, matcher.matches().size() / 100)) {
    const Match& m = matcher.matches()[i];
    base::Attempt<Rewritten> there = apply(asked[m.rule], m, g, degrees);
    if (!there) continue;
    There t{.rewritten = std::move(*there), .again = {}, .back = {}};
    t.back.resize(t.rewritten.graph.nodes().size());
    for (std::size_t n = 0; n < t.rewritten.renumbered.size(); ++n) {
      if (const auto now = t.rewritten.renumbered[n]) t.back[now->value] = pcg::NodeId(n);
      else t.again.emplace_back(n);
    }
    result.push_back(std::move(t));
  }
  return result;
}

// The update that takes longest, each the quickest of three.
double slowest_ms(Matcher& matcher, const pcg::Pcg& g, const std::vector<There>& all) {
  double slowest = 0;
  for (const There& t : all) {
    double quickest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      const auto start = std::chrono::steady_clock::now();
      matcher.update(t.rewritten.graph, t.rewritten.fresh, t.rewritten.renumbered);
      quickest = std::min(quickest, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      matcher.update(g, t.again, t.back);
    }
    slowest = std::max(slowest, quickest);
  }
  return slowest;
}

// Rewrites by rules of all kinds all over the graph, each there and back again, which are two updates.
void update_after_one_rewrite(benchmark::State& state) {
  const pcg::Pcg g = inception();
  Matcher matcher(rules(static_cast<int>(state.range(0))), g);
  const std::vector<There> all = rewrites(rules(static_cast<int>(state.range(0))), matcher, g);
  if (all.empty()) throw std::runtime_error("no rule applies");
  std::size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    const There& t = all[i++ % all.size()];
    matcher.update(t.rewritten.graph, t.rewritten.fresh, t.rewritten.renumbered);
    matcher.update(g, t.again, t.back);
  }
  count(state, g, matcher.matches().size());
  state.counters["slowest_ms"] = slowest_ms(matcher, g, all);
  state.counters["rewrites"] = static_cast<double>(all.size());
  state.SetItemsProcessed(2 * state.iterations());  // updates
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
BENCHMARK(update_after_one_rewrite)->Arg(all)->Arg(algebra)->Unit(benchmark::kMillisecond);
BENCHMARK(apply_one)->Arg(all)->Arg(algebra)->Unit(benchmark::kMillisecond);
