#include "search/planners/megatron/megatron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/cost/margins.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/megatron/candidates.hpp"
#include "search/planners/megatron/ranking.hpp"
#include "search/problem/options.hpp"

namespace search {
namespace {

// Parts of the budget: bounds of a large grid could take all of it, and plans that fit are worth more than bounds of all.
constexpr double kMostForRanking = 0.3, kMostForLocalSearch = 0.5, kLeastForSimulations = 0.2;
constexpr int kMostSimulated = 1000;  // some minutes of simulation on a large cluster

// Families of plans by their bounds, the least first, until all that are left cannot be better than the best.
// Returns: how many plans there were to estimate.
std::size_t go_through_grid(Ranking& ranking, Candidates& candidates, Budget& budget, const SearchContext& context) {
  std::size_t estimated = 0, left = ranking.families.size();
  PrunedCounts& pruned = ranking.pruned;
  for (const Family& family : ranking.families) {
    if (context.progress) context.progress(fmt::format("megatron: {} of {} kinds of plans left", left--, ranking.families.size()));
    std::optional<Candidates::Evaluation> evaluation = candidates.evaluation_of(family.config);
    if (!evaluation && candidates.is_dominated(family.least())) {
      pruned.dominated += family.variants.size();
      continue;
    }
    if (!evaluation && !budget.take()) {
      pruned.unreached += family.variants.size();
      continue;
    }
    if (!evaluation) {
      evaluation = candidates.evaluate(family, false);
      if (evaluation->best && candidates.estimate(*evaluation->best) < kLeastGain * candidates.best())
        candidates.simulate(*evaluation->best, "grid");
    }
    if (evaluation->is_refused) pruned.refused += family.variants.size();
    pruned.dominated += evaluation->dominated;
    estimated += evaluation->estimated;
  }
  return estimated;
}

Refusal no_points(const Problem& problem, const Wishes& wishes) {
  if (grid_points(problem).empty()) return {Constraint::batch, "no degrees divide both the GPUs and the batch"};
  std::vector<std::string> binding;
  for (const auto& [axis, others] : wishes.each_given_up())
    if (!grid_points(problem, others).empty()) binding.push_back(axis);
  return {Constraint::devices,
          fmt::format("{} GPUs and a batch of {} have no plan with {}{}", problem.cluster.device_count(), problem.training.global_batch,
                      wishes.text(),
                      binding.empty() ? "" : fmt::format("; without the wish for {} they have some", fmt::join(binding, " or ")))};
}

}  // namespace

SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config, const SearchContext& context) {
  Budget budget(context, config.budget);
  const auto part = [&](double share, auto&& step) {
    Budget of_step(context, budget.part(share));
    auto result = step(of_step);
    budget.add_part(of_step.counted(), {});
    return std::pair(std::move(result), of_step.ended_by());
  };
  PlanBounds bounds(problem, recomputations_of(problem.model));
  auto [ranking, ranking_ended] = part(kMostForRanking, [&](Budget& b) { return rank(problem, config.wishes, bounds, b, context); });
  Candidates candidates(problem, bounds, budget, context);
  const std::string wishes = config.wishes.text();
  // The search is to be no worse than what it generalises, whenever it ends.
  if (config.wishes.allow({.data = problem.cluster.device_count()}))
    confirm_data_parallel(problem, wishes.empty() ? Replicas::sharded : Replicas::whole, candidates.confirmation());
  std::size_t steps =
      part(kMostForLocalSearch, [&](Budget& b) { return search_locally(problem, config.wishes, ranking, bounds, candidates, b); }).first;
  const auto [estimated, grid_ended] = part(std::max(0.0, budget.left() / config.budget.seconds - kLeastForSimulations),
                                            [&](Budget& b) { return go_through_grid(ranking, candidates, b, context); });
  candidates.simulate_best(static_cast<std::size_t>(config.simulate_best), "grid");
  steps += search_by_simulation(problem, config.wishes, ranking, bounds, candidates, budget);
  if (!candidates.confirmation().has_plan() && ranking.smallest)
    if (const Attempt<pcg::Plan> plan = megatron_plan(problem, *ranking.smallest)) candidates.confirmation().confirm(*plan);

  const PrunedCounts& pruned = ranking.pruned;
  if (pruned.unreached > 0) budget.end(ranking_ended.value_or(grid_ended.value_or(Limit::effort)));
  const std::size_t simulated = candidates.confirmation().simulated();
  SearchResult result = std::move(candidates.confirmation()).result(budget);
  if (!budget.ended_by() && result.best && pruned.dominated == 0 && !candidates.has_left_out()) result.termination = Termination::optimal();
  if (!budget.ended_by() && !result.best && !result.closest) {
    const Refusal why = ranking.plans == 0 ? no_points(problem, config.wishes) : ranking.refusal ? *ranking.refusal : candidates.refusal();
    result.termination = Termination::infeasible(Refusal{why.constraint, "no point of the grid can be built: " + why.why});
  }
  result.notes.emplace_back("grid-counts", ranking.plans, pruned.refused, pruned.too_big, pruned.dominated, estimated, pruned.unreached,
                            simulated, steps);
  if (!wishes.empty()) result.notes.emplace_back("wishes", wishes);
  if (result.best) result.notes.emplace_back("choices-not-tried");
  return result;
}

Planner megatron_search_planner() {
  const MegatronSearchConfig defaults;
  std::vector<Option> own = Wishes::options();
  own.insert(own.begin(), {"simulate_best", WholeNumber{.least = 1, .most = kMostSimulated, .by_default = defaults.simulate_best},
                           "number of the best plans of the grid that are simulated whole, besides plain data parallelism"});
  return {.kind = "megatron",
          .form = "search",
          .about =
              "The best of Megatron's grid: all degrees, sequence parallelism, micro-batches, chunks, stages, recomputation and ZeRO 1 "
              "to 3.",
          .searches = true,
          .options = with_limits(MegatronSearchConfig::kEffort,
                                 "points of the grid bounded, kinds of plans estimated, and plans simulated,", std::move(own)),
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
            const MegatronSearchConfig config{.budget = limits_of(o, p.cluster.device_count()),
                                              .simulate_best = static_cast<int>(o.whole_number("simulate_best")),
                                              .wishes = Wishes(o, p.oracle.framework(p.training).runs)};
            return megatron_search(p, config, c);
          }};
}

}  // namespace search
