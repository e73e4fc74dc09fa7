#include "search/fsdp/fsdp.hpp"

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

GridConfig sharded_grid_of(const FsdpConfig& config) {
  GridConfig grid;
  grid.zero = config.stage;
  grid.micro_batch = config.micro_batch;
  return grid;
}

GridConfig sharded_grid_of(const OptionValues& options) {
  GridConfig grid =
      sharded_grid_of({.stage = static_cast<int>(options.choice("stage")) + 1, .micro_batch = options.whole_number("micro_batch")});
  take_memory_options(options, grid);
  grid.overlap = overlap_of(options);
  return grid;
}

}  // namespace

Attempt<pcg::Plan> fsdp_plan(const Problem& problem, const FsdpConfig& config) {
  return grid_plan(problem, sharded_grid_of(config), "fsdp");
}

Planner fsdp_planner() {
  return {
      .kind = "fsdp",
      .about = "Sharded data parallelism: replicas share out optimizer state, gradients and weights.",
      .options = {{"stage", Choice{.words = {"zero1", "zero2", "zero3"}, .by_default = static_cast<std::size_t>(FsdpConfig{}.stage) - 1},
                   "what is sharded: optimizer state, and gradients (`zero2`), and weights (`zero3`)"},
                  recompute_option(),
                  moments_option(),
                  cuda_graphs_option(),
                  micro_batch_option("samples per GPU and micro-batch", "one micro-batch"),
                  overlap_option({"gradients", "parameters"})},
      .contradiction = [](const OptionValues& o) { return wrong_overlap(o, sharded_grid_of(o).zero); },
      .plan = [](const Problem& p, const OptionValues& o,
                 const SearchContext&) { return result_of_rule(grid_plan(p, sharded_grid_of(o), "fsdp")); }};
}

}  // namespace search
