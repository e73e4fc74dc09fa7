#pragma once
// Plans on a grid of devices, made by rule: the machinery of data parallelism, Megatron-LM's grid and sharded data parallelism.

#include <string>

#include "search/grid/grid.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// The plan of a grid. Replicas, stages and ranks are placed as Megatron-LM does: tensor innermost, then context, then data, pipeline
// outermost. `framework` is the plan's where the problem names none (generic).
// Refuses when the numbers do not fit the model, the batch or the cluster.
[[nodiscard]] Attempt<pcg::Plan> grid_plan(const Problem& problem, const GridConfig& config, std::string name, pcg::Framework framework);

}  // namespace search
