#pragma once
// The layers of a model that repeat, and the model with fewer of them: what one more layer costs is seen on a model of two.

#include "pcg/graph/graph.hpp"

namespace search {

// A run of units, each of `unit` blocks: weighty, one after the other, of the same operators on the same shapes as their counterparts of
// the unit before, wired within themselves in the same way. Layers of one kind are units of one; where two kinds take turns, a unit is two.
struct RepeatedLayers {
  std::size_t first = 0;  // block
  std::size_t count = 0;  // units
  std::size_t unit = 1;   // blocks
  [[nodiscard]] std::size_t blocks() const { return count * unit; }
};

// Returns: the run of most blocks, of the smallest units among such; the first block that is weighty alone where none repeats, and none
// where none is weighty. Units are looked for up to kLargestUnit.
// Cost: O(nodes x kLargestUnit).
[[nodiscard]] RepeatedLayers repeated_layers(const pcg::Graph& graph);
// Gemma 3 has a unit of six, Llama 4 one of four: the largest of today (their config.json).
constexpr std::size_t kLargestUnit = 8;

// Returns: the graph with the first `kept` units of the run; what read a block that is gone reads its counterpart in the last unit that is
// kept. Its costs are those of a shorter model, its values are not.
// Requires: 1 <= kept <= run.count.
// Cost: O(nodes).
[[nodiscard]] pcg::Graph with_layers(const pcg::Graph& graph, const RepeatedLayers& run, std::size_t kept);

}  // namespace search
