#pragma once
// The parts of a graph that the stages of a pipeline are made of: runs of operators between cuts.

#include <cstddef>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "search/solve/mapping/segments.hpp"

namespace search {

inline constexpr std::size_t kMostStages = 16;

// What makes the parts. segments: cuts as they come, up to 64 parts. layers: operators clustered by Alpa's programme (layer_clusters.hpp).
// equal_operators: layers with equally many operators. equal_layers: those of the programme, and equally many of them in each stage. The
// last three are those of Alpa's ablation (OSDI'22, section 8.3).
enum class Clustering { segments, layers, equal_operators, equal_layers };

struct PartsConfig {
  Clustering by = Clustering::segments;
  std::size_t layers = kMostStages;  // unless by segments
  std::size_t fewest = 10;           // operators of a segment, where that leaves enough parts for every stage
};

// Where parts end: at bottlenecks, so that what comes from the part before is all of a part's inputs; or behind every block as well, where
// other tensors may cross: the output of T5's encoder, which all layers of its decoder read, or a tower beside another.
enum class PartEnds { bottlenecks, blocks };

// Returns: the parts in order, of at least one operator each. Cost: that of segments_of(), and O(layers x cuts^2) where they are clustered.
[[nodiscard]] std::vector<Segment> stage_parts(const pcg::Graph& graph, pcg::Precision precision, const PartsConfig& config,
                                               PartEnds ends = PartEnds::bottlenecks);

}  // namespace search
