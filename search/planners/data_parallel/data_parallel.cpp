#include "search/planners/data_parallel/data_parallel.hpp"

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {

Attempt<pcg::Plan> data_parallel_plan(const Problem& problem, const pcg::Overlap& overlap) {
  GridConfig grid;
  grid.overlap = overlap;
  return grid_plan(problem, grid, "data-parallel");
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
