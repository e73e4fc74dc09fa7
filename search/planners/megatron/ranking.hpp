#pragma once
// The whole grid of the search, by what each plan takes at least. Private to this folder.

#include <cstddef>
#include <optional>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/planners/megatron/plan_bound.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/refusal.hpp"
#include "sim/program/program.hpp"

namespace search {

struct RankedVariant {
  sim::Variant variant;
  double seconds = 0;  // at least
};

// Plans that differ in recomputation and ZeRO alone: they are built once.
struct Family {
  GridConfig config;                    // without recomputation and ZeRO
  std::vector<RankedVariant> variants;  // the quickest first
};

// How many plans of the grid were set aside, by why.
struct SetAside {
  std::size_t refused = 0;      // the model cannot be cut so
  std::size_t too_big = 0;      // memory is not there
  std::size_t behind = 0;       // what they take at least, or by their estimate, is more than the best takes
  std::size_t twins = 0;        // the same plan as another
  std::size_t unsimulated = 0;  // near the best by their estimates, and not simulated because enough were
  std::size_t unreached = 0;    // the time was up
};

struct Ranking {
  std::vector<Family> families;  // by their quickest variant
  std::size_t plans = 0;         // of the whole grid
  double room = 0;               // bytes for tensors, of the device that has most
  SetAside aside;
  std::optional<GridConfig> smallest;  // of those that are too big, what needs least
  std::optional<Refusal> refusal;      // of the last cut that cannot be built
};

// Cost: one LayerSketcher::sketch() for each cut of the model, and O(grid x log).
[[nodiscard]] Ranking rank(const Problem& problem, PlanBounds& bounds, Budget& budget, const SearchContext& context);

}  // namespace search
