#pragma once
// Layers shared out among the stages of a pipeline, so that the slowest stage is as quick as can be: a pipeline goes at its pace.

#include <span>
#include <string>
#include <vector>

namespace search {

// `seconds`: of each layer on each rank of the pipeline, [rank][layer]; virtual stage s runs on rank s modulo the number of ranks.
// Returns: how many layers each virtual stage takes, in order, each at least one. Of all splits that are as quick the most even one (the
// least sum of the squares of the stages' seconds), so that no stage keeps more layers in memory than it must.
// Requires: 1 <= stages <= layers, at least one rank, equally many layers of each, no negative seconds.
// Cost: O(stages x layers x layers of the longest stage).
[[nodiscard]] std::vector<int> balanced_layers(std::span<const std::vector<double>> seconds, int stages);

// "7 + 14 x 8 + 7".
[[nodiscard]] std::string layers_text(std::span<const int> layers_per_stage);

}  // namespace search
