#pragma once
// A plan's parallel computation graph in the form that the page draws.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "pcg/plan/plan.hpp"

namespace reports {

// Returns {"gpus", "stages", "ranks", "micro_batches", "schedule", "recompute", "zero", "parts": [...], "blocks": [...], "left_out"}.
// Layers repeat: blocks whose operators are cut and joined alike share a part, [{"name", "kind", "cut", "shape", "inputs"}], one entry for
// each operator but weights and inputs, in the order of the graph. `name` lacks what names of the block begin with; `inputs` are indices
// into the part, -1 for a tensor of another block; `cut` is absent where data only move (parallel operators). A block is {"name", "part",
// "stages": [low, high], "devices": [[first, last], ...]}. Null in place of a part: it had no room in `most_bytes`, and `left_out` says so.
[[nodiscard]] nlohmann::ordered_json graph_data(const pcg::Plan& plan, std::size_t most_bytes);

}  // namespace reports
