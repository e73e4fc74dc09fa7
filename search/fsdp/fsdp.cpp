#include "search/fsdp/fsdp.hpp"

#include <fmt/core.h>

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

constexpr std::size_t kStages = 3;

int stage_of(const OptionValues& o) { return static_cast<int>(o.choice("stage")) + 1; }
bool synchronises_once(const OptionValues& o) { return o.choice("synchronise") == 0; }

GridConfig sharded_grid_of(const OptionValues& o) {
  GridConfig grid;
  grid.zero = stage_of(o);
  grid.tensor = static_cast<int>(o.whole_number("tensor"));
  grid.context = static_cast<int>(o.whole_number("context"));
  grid.micro_batch = o.whole_number("micro_batch");
  take_memory_options(o, grid);
  take_shard_option(o, grid);
  if (o.given("prefetch")) grid.memory.zero.prefetch = static_cast<int>(o.whole_number("prefetch"));
  grid.memory.zero.accumulates = grid.zero >= 2 && o.given("synchronise") && synchronises_once(o);
  grid.memory.zero.keeps_weights = !o.flag("reshard_after_forward");
  grid.overlap = overlap_of(o);
  return grid;
}

std::optional<OptionProblem> fsdp_contradiction(const OptionValues& o) {
  const int stage = stage_of(o);
  if (stage < 3 && o.given("prefetch"))
    return OptionProblem{"prefetch", fmt::format("zero{} keeps whole weights: there are none to gather ahead", stage),
                         "write stage: zero3, or leave prefetch out"};
  if (stage < 3 && !o.flag("reshard_after_forward"))
    return OptionProblem{"reshard_after_forward", fmt::format("zero{} keeps whole weights in any case", stage),
                         "write stage: zero3, or leave reshard_after_forward out"};
  if (stage == 1 && o.given("synchronise") && !synchronises_once(o))
    return OptionProblem{"synchronise", "zero1 keeps whole gradients, and synchronises them once per iteration",
                         "write stage: zero2 or zero3, or leave synchronise out"};
  return wrong_overlap(o, stage);
}

}  // namespace

Planner fsdp_planner() {
  return {
      .kind = "fsdp",
      .about = "Sharded data parallelism: replicas share out optimizer state, gradients and weights.",
      .options = {{"stage", Choice{.words = {"zero1", "zero2", "zero3"}, .by_default = kStages - 1},
                   "what is sharded: optimizer state, and gradients (`zero2`), and weights (`zero3`)"},
                  shard_option(),
                  degree_option("tensor", 1, "devices that share each layer"),
                  degree_option("context", 1, "devices that share the positions of a sequence"),
                  {"prefetch", WholeNumber{.least = 0, .most = kLargestDegree, .by_default = -1},
                   "blocks whose weights are gathered ahead of the one that is computed, at most; `zero3` only", "as the framework does"},
                  {"synchronise", Choice{.words = {"iteration", "micro_batch"}},
                   "when gradients are reduced to shards: once, from whole ones that are added up; or after each micro-batch",
                   "`iteration` for `zero1`, else `micro_batch`"},
                  {"reshard_after_forward", Flag{true},
                   "weights are freed after the forward pass and gathered again; else kept for the backward pass; `zero3` only"},
                  recompute_option(),
                  moments_option(),
                  activation_inputs_option(),
                  weights_option(),
                  cuda_graphs_option(),
                  offload_option(),
                  micro_batch_option("samples per replica and micro-batch", "one micro-batch"),
                  overlap_option({"gradients", "parameters"})},
      .contradiction = fsdp_contradiction,
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext&) {
        return result_of_rule(grid_plan(p, sharded_grid_of(o), "fsdp"));
      }};
}

}  // namespace search
