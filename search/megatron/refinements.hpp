#pragma once
// Choices that the grid leaves out, because every one of them would multiply it: they are made for its best plan alone, one after another.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/grid/grid.hpp"

namespace search {

// One choice: what a plan does otherwise. Several values, of which one is taken.
struct Refinement {
  std::string what;  // for people: "context_kind"
  std::vector<GridConfig> values;
};

// The choices that a configuration leaves open and the framework has: how ranks of context exchange keys, the schedule of a pipeline
// without chunks, and what runs beside the kernels. Each value differs from `config` in that choice alone.
// PipeDream-2BW is none of them, as it trains otherwise. Neither are offloading, parts of layers to recompute, a lean warm-up and moments
// in bf16, which save memory and cost time or digits; and CUDA graphs, whose buffers nobody counts.
[[nodiscard]] std::vector<Refinement> refinements_of(const GridConfig& config, pcg::Framework framework);

// Makes one choice after another, each for what the ones before have left: `seconds` says what a configuration takes, nullopt: it cannot be
// built or does not fit. A value is taken that is better by more than a thousandth.
// Returns: the names of the choices that were changed. Changes `config` and `best`.
std::vector<std::string> refine(GridConfig& config, double& best, pcg::Framework framework,
                                const std::function<std::optional<double>(const GridConfig&)>& seconds);

}  // namespace search
