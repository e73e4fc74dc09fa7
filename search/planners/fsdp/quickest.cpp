#include "search/planners/fsdp/fsdp.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "search/cost/estimate.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"

namespace search {
namespace {

// Estimates are blind to contention, so that a simulation is rarely better than the estimate of another plan by more (megatron_search.cpp).
constexpr double kEstimatesErr = 1.05;
constexpr std::size_t kMostConfirmed = 4;  // of estimates so close to each other that which is simulated matters little

struct EstimatedPlan {
  pcg::Plan plan;
  double seconds = 0;
};

// They differ in recomputation alone.
bool are_variants(const GridConfig& a, GridConfig b) {
  b.recompute = a.recompute;
  return a == b;
}

class QuickestSearch {
 public:
  QuickestSearch(const Problem& problem, const std::vector<GridConfig>& grids, const std::string& name, const SearchLimits& limits,
                 const SearchContext& context)
      : problem_(problem), grids_(grids), name_(name), budget_(context, limits), confirmation_(problem, context, name) {}

  SearchResult run() {
    estimate_all();
    if (estimated_.empty() && refusal_) return result_of_rule(*refusal_);
    std::ranges::stable_sort(estimated_, {}, &EstimatedPlan::seconds);
    const std::size_t candidates = estimated_.size();
    const std::size_t simulated = confirm();
    SearchResult r = std::move(confirmation_).result(budget_);
    r.notes.push_back(
        fmt::format("of {} choices of stage, micro-batch and recomputation {}", candidates,
                    simulated == 0 ? "none fits" : fmt::format("the best that fit by their estimates were simulated: {}", simulated)));
    return r;
  }

 private:
  void estimate_all() {
    GridPlanner planner(problem_);
    const GridConfig* estimated = nullptr;
    std::optional<pcg::Plan> like;  // the estimator refers to it
    std::unique_ptr<Estimator> estimator;
    for (const GridConfig& grid : grids_) {
      if (!budget_.take() && !estimated_.empty()) return;
      Attempt<pcg::Plan> plan = planner.plan(grid, name_);
      if (!plan) {
        refusal_ = plan.refusal();
        continue;
      }
      if (estimated == nullptr || !are_variants(*estimated, grid)) {
        estimated = &grid;
        estimator.reset();
        like = *plan;
        estimator = std::make_unique<Estimator>(*like, problem_.oracle);
      }
      const double seconds = estimator->time({.recompute = plan->recompute, .zero = plan->zero}).value();
      estimated_.push_back({std::move(plan).value(), seconds});
    }
  }

  // Returns: how many were simulated.
  std::size_t confirm() {
    std::size_t simulated = 0;
    for (EstimatedPlan& e : estimated_) {
      const std::optional<base::Seconds> best = confirmation_.best_time();
      if (best && (e.seconds >= kEstimatesErr * best->value() || simulated == kMostConfirmed)) break;
      if (best && !budget_.take()) break;
      if (confirmation_.confirm(std::move(e.plan), base::Seconds(e.seconds))) ++simulated;
    }
    return simulated;
  }

  const Problem& problem_;
  const std::vector<GridConfig>& grids_;
  const std::string& name_;
  Budget budget_;
  Confirmation confirmation_;
  std::vector<EstimatedPlan> estimated_;  // the best first, once all are there
  std::optional<Refusal> refusal_;        // the last
};

}  // namespace

SearchResult quickest_of(const Problem& problem, const std::vector<GridConfig>& grids, const std::string& name, const SearchLimits& limits,
                         const SearchContext& context) {
  return QuickestSearch(problem, grids, name, limits, context).run();
}

}  // namespace search
