#include "search/fsdp/fsdp.hpp"

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

FsdpConfig fsdp_config_of(const OptionValues& options) {
  return {.stage = static_cast<int>(options.choice("stage")) + 1,
          .recompute = static_cast<pcg::Recompute>(options.choice("recompute")),
          .micro_batch = options.whole_number("micro_batch"),
          .overlap = overlap_of(options)};
}

}  // namespace

Attempt<pcg::Plan> fsdp_plan(const Problem& problem, const FsdpConfig& config) {
  GridConfig grid;
  grid.zero = config.stage;
  grid.recompute = config.recompute;
  grid.micro_batch = config.micro_batch;
  grid.overlap = config.overlap;
  return grid_plan(problem, grid, "fsdp");
}

Planner fsdp_planner() {
  return {
      .kind = "fsdp",
      .about = "Sharded data parallelism: replicas share out optimizer state, gradients and weights.",
      .options = {{"stage", Choice{.words = {"zero1", "zero2", "zero3"}, .by_default = static_cast<std::size_t>(FsdpConfig{}.stage) - 1},
                   "what is sharded: optimizer state, and gradients (`zero2`), and weights (`zero3`)"},
                  recompute_option(),
                  micro_batch_option("samples per GPU and micro-batch", "one micro-batch"),
                  overlap_option({"gradients", "parameters"})},
      .contradiction = [](const OptionValues& o) { return wrong_overlap(o, fsdp_config_of(o).stage); },
      .plan = [](const Problem& p, const OptionValues& o,
                 const SearchContext&) { return result_of_rule(fsdp_plan(p, fsdp_config_of(o))); }};
}

}  // namespace search
