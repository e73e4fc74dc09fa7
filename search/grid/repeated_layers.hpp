#pragma once
// The layers of a model that repeat, and the model with fewer of them: what one more layer costs is seen on a model of two.

#include "pcg/graph/graph.hpp"

namespace search {

// A run of blocks: weighty, one behind the other, of the same operators on the same shapes, wired within themselves in the same way.
struct RepeatedLayers {
  std::size_t first = 0, count = 0;  // blocks
};

// Returns: the longest run; the first block that is weighty alone where none repeats, and none where none is weighty.
// Cost: O(nodes).
[[nodiscard]] RepeatedLayers repeated_layers(const pcg::Graph& graph);

// Returns: the graph with the first `kept` blocks of the run; what read a block that is gone reads the last that is kept. Its costs are
// those of a shorter model, its values are not.
// Requires: 1 <= kept <= run.count.
// Cost: O(nodes).
[[nodiscard]] pcg::Graph with_layers(const pcg::Graph& graph, const RepeatedLayers& run, std::size_t kept);

}  // namespace search
