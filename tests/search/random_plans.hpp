#pragma once
// Plans drawn at random from the spaces of planners, each with what its planner takes it to cost: how these rank them against simulations.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "correlation.hpp"
#include "search/planners/flexflow/walk.hpp"
#include "search/solve/layers/chain_costs.hpp"
#include "search/solve/memory_constrained/constrained_operators.hpp"

namespace test {

struct DrawnPlan {
  pcg::Plan plan;
  double cost = 0;  // seconds that the planner ranks it by
};

// A space and the planners that search it.
enum class Space {
  grid,       // megatron: search, fsdp, auto: the replay of the lowered program
  operators,  // intra-op, alpa, unity: the sum of operators and movements
  places,     // flexflow, walks of unity: the schedule of operators on blocks of devices
  layers      // uniap, galvatron: the sum of layers, stages and transfers
};
inline constexpr Space kSpaces[] = {Space::grid, Space::operators, Space::places, Space::layers};
inline const char* to_text(Space s) {
  constexpr const char* kNames[] = {"grid", "operators", "places", "layers"};
  return kNames[static_cast<std::size_t>(s)];
}

// Of operators and places each plan draws how many operators are cut by samples: from plans that cut all alike to those that cut each anew.
inline constexpr double kTooLong = 1e5;  // seconds: movements that no program makes count so, and planners never take them

// The strategy that all devices share samples in; nullopt: there is none.
inline std::optional<std::uint32_t> by_samples(const search::StrategyTable& table, int devices) {
  const auto cuts_samples = [&](const search::Strategy& s) { return s.sharding.degrees[0] == devices; };
  const auto at = std::ranges::find_if(table.strategies, cuts_samples);
  return at == table.strategies.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(at - table.strategies.begin()));
}

inline std::vector<DrawnPlan> draw_grid(const search::Problem& problem) {
  std::vector<DrawnPlan> drawn;
  each_plan(problem, [&](const pcg::Plan& plan, search::Estimator& estimator) {
    drawn.push_back({plan, estimator.time(sim::variant_of(plan)).value()});
  });
  return drawn;
}

inline std::vector<DrawnPlan> draw_operators(const search::Problem& problem, std::size_t count, base::Random& random) {
  const int devices = problem.cluster.device_count();
  const search::DeviceBlock all{0, devices};
  const search::Objective objective;
  search::OperatorCatalog catalog(problem, 2);
  search::Shortlists lists(catalog, objective, 24);
  search::ConstrainedOperators space(lists, all, objective);
  const std::vector<search::KindNumber> kinds = catalog.kinds_of(problem.model);
  space.add(problem.model, kinds);
  std::vector<DrawnPlan> drawn;
  while (drawn.size() < count) {
    const double keeps = random.uniform();
    std::vector<search::Strategy> strategies(kinds.size());
    std::vector<std::uint32_t> numbers;
    for (std::size_t n = 0; n < kinds.size(); ++n) {
      if (kinds[n] == search::kSource) continue;
      const search::StrategyTable& table = catalog.table(kinds[n], all);
      const std::vector<std::uint32_t>& listed = lists.of(kinds[n], all).strategies;
      const auto usual = by_samples(table, devices);
      numbers.push_back(usual && random.uniform() < keeps ? *usual : listed[random.below(listed.size())]);
      strategies[n] = table.strategies[numbers.back()];
    }
    const double seconds = space.seconds(numbers);
    if (seconds < kTooLong) drawn.push_back({search::plan_of_strategies(problem, problem.model, strategies), seconds});
  }
  return drawn;
}

inline std::vector<DrawnPlan> draw_places(const search::Problem& problem, std::size_t count, base::Random& random) {
  const int devices = problem.cluster.device_count();
  const search::DeviceBlock all{0, devices};
  search::OperatorCatalog catalog(problem, 2);
  const search::OperatorGraph graph = search::operator_graph(problem.model, catalog.kinds_of(problem.model), catalog);
  search::Placements placements(problem.cluster, catalog);
  const search::SearchContext context;
  search::Budget budget(context, base::Seconds(1));
  search::Walk walk(graph, placements, devices, budget);
  walk.set_room(1e30);
  std::vector<DrawnPlan> drawn;
  while (drawn.size() < count) {
    const double keeps = random.uniform();
    std::vector<search::Placement> at;
    std::vector<search::Strategy> strategies(problem.model.nodes().size());
    for (std::size_t o = 0; o < graph.nodes.size(); ++o) {
      const auto usual = by_samples(catalog.table(graph.kinds[o], all), devices);
      at.push_back(usual && random.uniform() < keeps ? search::Placement{all, *usual} : placements.any(graph.kinds[o], random));
      strategies[graph.nodes[o]] = catalog.strategy(graph.kinds[o], at.back().block, at.back().strategy);
    }
    const double seconds = walk.position(std::move(at)).seconds;
    if (seconds < kTooLong) drawn.push_back({search::plan_of_strategies(problem, problem.model, strategies), seconds});
  }
  return drawn;
}

inline std::vector<DrawnPlan> draw_layers(const search::Problem& problem, std::size_t count, base::Random& random) {
  const search::ShortModel model = search::short_model(problem.model);
  search::OperatorCatalog catalog(problem, 2);
  std::vector<DrawnPlan> drawn;
  for (std::size_t attempt = 0; drawn.size() < count && attempt < 100 * count; ++attempt) {
    const int devices = problem.cluster.device_count();
    const int stages = 1 << random.below(devices >= 4 ? 3 : 2), micro_batches = 1 << random.below(3);
    if (devices % stages != 0 || problem.training.global_batch % micro_batches != 0) continue;
    const search::ChainSetting setting{.stages = stages, .zero = random.below(2) == 0 ? 2 : 3};
    const std::optional<search::LayerChain> chain = search::ChainCosts(problem, model, catalog, micro_batches).chain(setting);
    if (!chain || chain->kinds.size() < chain->stages()) continue;
    search::ChainAnswer answer;
    for (std::size_t s = 0; s < chain->stages(); ++s) answer.begins.push_back(s * chain->kinds.size() / chain->stages());
    const double keeps = random.uniform();
    std::uint32_t usual = 0;
    for (std::size_t l = 0; l < chain->kinds.size(); ++l) {
      const std::size_t strategies = chain->tables[0][chain->kinds[l]].seconds.size();
      if (l == 0 || random.uniform() >= keeps) usual = static_cast<std::uint32_t>(random.below(strategies));
      answer.strategies.push_back(usual);
    }
    answer.seconds = search::chain_seconds(*chain, answer);
    if (answer.seconds < kTooLong) drawn.push_back({search::layered_plan(problem, setting, micro_batches, answer), answer.seconds});
  }
  return drawn;
}

// `count`: of the grid all are taken.
inline std::vector<DrawnPlan> draw(Space space, const search::Problem& problem, std::size_t count, std::uint64_t seed = 1) {
  base::Random random(seed);
  switch (space) {
    case Space::grid: return draw_grid(problem);
    case Space::operators: return draw_operators(problem, count, random);
    case Space::places: return draw_places(problem, count, random);
    case Space::layers: break;
  }
  return draw_layers(problem, count, random);
}

struct Judgement {
  double rank = 0;   // Spearman's correlation with simulated times
  double error = 0;  // mean of cost / simulated time - 1
  // Of the best plan of any ten, spread evenly over those that were drawn, at most: its cost as a multiple of the least cost of the ten,
  // and of its simulated time. Cut-offs below lose it (search/cost/margins.hpp).
  double above_least = 1, above_simulated = 0;
};

inline Judgement judgement(const std::vector<Ranked>& pairs) {
  Judgement j{spearman(pairs)};
  for (const Ranked& p : pairs) j.error += (p.estimated / p.simulated - 1) / static_cast<double>(pairs.size());
  const std::size_t sets = pairs.size() / 10;
  for (std::size_t first = 0; first < sets; ++first) {
    std::vector<Ranked> ten;
    for (std::size_t i = 0; i < 10; ++i) ten.push_back(pairs[first + i * sets]);
    const Ranked& best = *std::ranges::min_element(ten, {}, &Ranked::simulated);
    j.above_least = std::max(j.above_least, best.estimated / std::ranges::min_element(ten, {}, &Ranked::estimated)->estimated);
    j.above_simulated = std::max(j.above_simulated, best.estimated / best.simulated);
  }
  return j;
}

// The planner's own cost, and the replay of the plan's program (search/cost), which all planners can ask for.
struct Judgements {
  Judgement own, replay;
};

inline Judgements judge(const search::Problem& problem, const std::vector<DrawnPlan>& drawn) {
  std::vector<Ranked> own, replayed;
  for (const DrawnPlan& d : drawn) {
    const double simulated = problem.oracle.plan(d.plan).iteration_time.value();
    own.push_back({d.cost, simulated});
    replayed.push_back({search::estimate(d.plan, problem.oracle).value(), simulated});
  }
  return {judgement(own), judgement(replayed)};
}

}  // namespace test
