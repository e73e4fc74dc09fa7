#pragma once
// The grid that the search walks through.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/planners/megatron/plan_bound.hpp"
#include "search/planners/megatron/wishes.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/refusal.hpp"
#include "sim/program/program.hpp"

namespace search {

// Every combination of tensor, context, expert, pipeline and data degree, sequence parallelism, micro-batch, chunks, and stages of equal
// and of balanced length that devices and batch divide into, without recomputation and ZeRO. Chunks: 1 to 8, and all divisors of a stage's
// layers. Of these, those that wishes allow. Points of one cut (tensor, context, expert, sequence parallelism and micro-batch) follow each
// other, small groups of devices first, small micro-batches first among their like. Whether the model divides too shows when the plan is
// built. Cost: O(results + sqrt(global batch)).
[[nodiscard]] std::vector<GridConfig> grid_points(const Problem& problem, const Wishes& wishes = {});

struct RankedVariant {
  sim::Variant variant;
  double seconds = 0;  // at least
};

// Plans that differ in recomputation and ZeRO alone: they are built once.
struct Family {
  GridConfig config;                    // without recomputation and ZeRO
  std::vector<RankedVariant> variants;  // the quickest first
};

// How many plans of the grid were pruned, by why.
struct PrunedCounts {
  std::size_t refused = 0;      // the model cannot be cut so
  std::size_t too_big = 0;      // memory is not there
  std::size_t dominated = 0;    // what they take at least, or by their estimate, is more than the best takes
  std::size_t duplicates = 0;   // the same plan as another
  std::size_t unsimulated = 0;  // near the best by their estimates, and not simulated because enough were
  std::size_t unreached = 0;    // the time was up
};

// The whole grid of the search, by what each plan takes at least.
struct Ranking {
  std::vector<Family> families;  // by their quickest variant
  std::size_t plans = 0;         // of the whole grid
  double room = 0;               // bytes for tensors, of the device that has most
  PrunedCounts pruned;
  std::optional<GridConfig> smallest;  // of those that are too big, what needs least
  std::optional<Refusal> refusal;      // of the last cut that cannot be built
};

// Cost: one LayerSketcher::sketch() for each cut of the model, and O(grid x log).
[[nodiscard]] Ranking rank(const Problem& problem, const Wishes& wishes, PlanBounds& bounds, Budget& budget, const SearchContext& context);

// A choice that the grid leaves out, because every one of them would multiply it: they are made for its best plan alone, one after another.
// Several values, of which one is taken.
struct Refinement {
  std::string what;  // for people: "context_kind"
  std::vector<GridConfig> values;
};

// The inputs of choices other than the configuration.
struct RefinementScope {
  pcg::Framework framework = pcg::Framework::generic;
  pcg::Precision precision = pcg::Precision::bf16;
  int domain_devices = 8;  // GPUs that reach each other without the network
};

// The choices that a configuration leaves open and the framework has: how ranks of context exchange keys, by which library tokens go to
// their experts and how many tensor ranks share one, the schedule of a pipeline, which layers are recomputed where all are, groups that
// shard for themselves, weights kept in fp8, and what overlaps with the kernels. Each value differs from `config` in that choice alone.
// PipeDream-2BW and moments in bf16 are none of them, as they train otherwise. Neither are offloading and an early backward pass, which
// save memory and cost time; nor CUDA graphs, whose buffers are not counted.
[[nodiscard]] std::vector<Refinement> refinements_of(const GridConfig& config, const RefinementScope& scope);

// Makes one choice after another, each for what the ones before have left: `seconds` says what a configuration takes, nullopt: it cannot be
// built or does not fit. A value is taken that is better by more than a thousandth.
// Returns: the names of the choices that were changed. Changes `config` and `best`.
std::vector<std::string> refine(GridConfig& config, double& best, const RefinementScope& scope,
                                const std::function<std::optional<double>(const GridConfig&)>& seconds);

}  // namespace search
