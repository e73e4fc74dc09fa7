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

// What choices depend on besides the configuration.
struct RefinementScope {
  pcg::Framework framework = pcg::Framework::generic;
  pcg::Precision precision = pcg::Precision::bf16;
  int domain_devices = 8;  // GPUs that reach each other without the network
};

// The choices that a configuration leaves open and the framework has: how ranks of context exchange keys, by which library tokens go to
// their experts and how many tensor ranks share one, the schedule of a pipeline, which layers are recomputed where all are, groups that
// shard for themselves, weights kept in fp8, and what runs beside the kernels. Each value differs from `config` in that choice alone.
// PipeDream-2BW and moments in bf16 are none of them, as they train otherwise. Neither are offloading and a lean warm-up, which save memory
// and cost time; nor CUDA graphs, whose buffers nobody counts.
[[nodiscard]] std::vector<Refinement> refinements_of(const GridConfig& config, const RefinementScope& scope);

// Makes one choice after another, each for what the ones before have left: `seconds` says what a configuration takes, nullopt: it cannot be
// built or does not fit. A value is taken that is better by more than a thousandth.
// Returns: the names of the choices that were changed. Changes `config` and `best`.
std::vector<std::string> refine(GridConfig& config, double& best, const RefinementScope& scope,
                                const std::function<std::optional<double>(const GridConfig&)>& seconds);

}  // namespace search
