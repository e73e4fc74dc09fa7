#pragma once
// Layers shared out among the stages of a pipeline so that an iteration takes least.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/grid/stages.hpp"
#include "sim/oracle.hpp"

namespace search {

// Units shared out so that the slowest stage is as quick as can be: the beginning of a search for a quick iteration.
// `seconds`: of each unit on each rank of the pipeline, [rank][unit]: what comes before the first layer, each layer, what comes after the
// last one. Virtual stage s runs on rank s modulo the number of ranks.
// Returns: how many layers each virtual stage takes, in order: each at least one, but for the ends that may be bare. Of all splits that are
// as quick the most even one (the least sum of the squares of the stages' seconds).
// Requires: at least one rank, equally many units of each, no negative seconds; layers enough for all stages that have to take one.
// Cost: O(stages x layers x layers of the longest stage).
[[nodiscard]] std::vector<int> quickest_slowest_stage(std::span<const std::vector<double>> seconds, int stages, BareEnds bare);

// Splits of one plan's layers.
struct Splits {
  int layers = 1, stages = 1;
  BareEnds bare;
  std::function<std::optional<pcg::Plan>(std::span<const int> layers_per_stage)> plan;  // nullopt: a stage cannot be cut so
};

// How much is spent on a split. rough: two plans are estimated.
enum class Balance { rough, whole };

// The split whose plan takes the least time by its estimate, of those that are tried: stages as equal as can be, those with the quickest
// slowest stage, and what is found from the better of the two by moving one layer after another from any stage to any other, while that
// shortens the iteration. Schedules decide what a split takes: at their pace the slowest stage counts, while they fill and drain its place
// too. Moves are timed on the blocks of the plan before them (Estimator::time_of_stages()), and where they lead is estimated whole.
// Returns: as above; of the splits tried the quickest that fits into memory, if one does. Rough: the second of them. nullopt: the plan
// of stages as equal as can be is refused.
// Requires: there is a split.
// Cost: some ten plans and estimates, and O(stages^2) iterations of the schedule for each move, of 2 million passes in all.
[[nodiscard]] std::optional<std::vector<int>> balanced_layers(const Splits& splits, Balance balance, const sim::Oracle& oracle);

}  // namespace search
