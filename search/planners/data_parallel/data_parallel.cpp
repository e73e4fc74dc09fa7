#include "search/planners/data_parallel/data_parallel.hpp"

#include <array>
#include <utility>

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {

Attempt<pcg::Plan> data_parallel_plan(const Problem& problem, const pcg::Overlap& overlap) {
  return grid_plan(problem, {.overlap = overlap}, "data-parallel");
}

void confirm_data_parallel(const Problem& problem, Replicas replicas, Confirmation& confirmation) {
  constexpr std::array<std::pair<int, pcg::Recompute>, 4> kStages = {
      {{0, pcg::Recompute::none}, {2, pcg::Recompute::none}, {3, pcg::Recompute::none}, {3, pcg::Recompute::full}}};
  for (const auto& [zero, recompute] : kStages) {
    const Attempt<pcg::Plan> plan = grid_plan(problem, {.recompute = recompute, .zero = zero}, "data-parallel");
    if (!plan || confirmation.confirm(*plan) || replicas == Replicas::whole) return;
  }
}

Planner data_parallel_planner() {
  return {.kind = "data-parallel",
          .about = "One replica per GPU; gradients are all-reduced while the backward pass runs.",
          .options = {overlap_option({"gradients"})},
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext&) {
            return result_of_rule(data_parallel_plan(p, overlap_of(o)));
          }};
}

}  // namespace search
