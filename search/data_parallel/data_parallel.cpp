#include "search/data_parallel/data_parallel.hpp"

#include "search/grid/grid_plan.hpp"

namespace search {

Attempt<pcg::Plan> data_parallel_plan(const Problem& problem) { return grid_plan(problem, {}, "data-parallel"); }

Planner data_parallel_planner() {
  return {.kind = "data-parallel",
          .about = "One replica per GPU; gradients are all-reduced while the backward pass runs.",
          .plan = [](const Problem& p, const OptionValues&, const SearchContext&) { return result_of_rule(data_parallel_plan(p)); }};
}

}  // namespace search
