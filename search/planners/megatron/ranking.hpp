#pragma once
// The grid that the search walks through.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/planners/megatron/moves.hpp"
#include "search/planners/megatron/plan_bound.hpp"
#include "search/planners/megatron/wishes.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/refusal.hpp"
#include "sim/program/program.hpp"

namespace search {

// Every combination of tensor, context, expert, pipeline and data degree, sequence parallelism, micro-batch, chunks, and stages of equal
// and of balanced length that devices and batch divide into, each with its exchanges(), without recomputation and ZeRO. Chunks: 1 to 8, and
// all divisors of a stage's layers. Of these, those that wishes allow. Points of one cut (tensor, context, expert, sequence parallelism and
// micro-batch) follow each other, those of small groups of devices with small micro-batches first. Whether the model divides too shows when
// the plan is built. Cost: O(results + sqrt(global batch)).
[[nodiscard]] std::vector<GridConfig> grid_points(const Problem& problem, const Wishes& wishes = {});

struct RankedVariant {
  sim::Variant variant;
  PlanBound bound;
};

// Plans that differ in recomputation and ZeRO alone: they are built once.
struct Family {
  GridConfig config;                    // without recomputation and ZeRO
  std::vector<RankedVariant> variants;  // the quickest first
  // Of those that need at most `bytes`, the seconds that the quickest is likely to take (PlanBound); infinite where there is none.
  [[nodiscard]] double likely(double bytes) const;
  // No plan of it is quicker.
  [[nodiscard]] double least() const { return variants.front().bound.seconds; }
};

// Returns: the families of a point that bounds leave room for: one, or one for each kind of recomputation where stages are not equal.
// `too_big`: is called for each plan that they leave none for, with the bytes that it needs; may be empty.
// Requires: bounds.refusal(point) is nullptr.
[[nodiscard]] std::vector<Family> families_of(const GridConfig& point, const Wishes& wishes, PlanBounds& bounds, double room,
                                              const std::function<void(const GridConfig&, double bytes)>& too_big = {});

// How many plans of the grid were pruned, by why.
struct PrunedCounts {
  std::size_t refused = 0;    // the model cannot be cut so
  std::size_t too_big = 0;    // memory is not there
  std::size_t dominated = 0;  // slower than the best by their bounds, or than one that recomputes less and fits
  std::size_t unreached = 0;  // the budget was spent
};

// The whole grid of the search, by what each plan takes at least.
struct Ranking {
  std::vector<Family> families;  // the one that is likely to be quickest first
  std::size_t plans = 0;         // of the whole grid
  double room = 0;               // bytes for tensors, of the device that has most
  PrunedCounts pruned;
  std::optional<GridConfig> smallest;  // of those that are too big, what needs least
  std::optional<Refusal> refusal;      // of the last cut that cannot be built
};

// Cost: one LayerSketcher::sketch() for each cut of the model, and O(grid x log).
[[nodiscard]] Ranking rank(const Problem& problem, const Wishes& wishes, PlanBounds& bounds, Budget& budget, const SearchContext& context);

}  // namespace search
