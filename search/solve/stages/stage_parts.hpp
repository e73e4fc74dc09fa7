#pragma once
// Operator clustering: a chain of operators becomes a shorter chain of layers, of which the stages of a pipeline are made (Zheng et al.,
// "Alpa", OSDI'22, section 5.3, equation 6).

#include <cstddef>
#include <span>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "search/solve/mapping/segments.hpp"

namespace search {

// An operator of a chain, or several that are not parted.
struct ChainOperator {
  double flops = 0;
  double bytes_on = 0;        // what a cut after it has to transfer
  std::size_t operators = 1;  // how many it holds
};

// How much more FLOPs than the average a layer may have: what the authors' program uses (alpa-projects/alpa at b8078a9,
// layer_construction).
inline constexpr double kClusterImbalance = 0.5;

// Returns: where each layer ends, one past its last operator, ascending: min(layers, chain.size()) layers, none of them empty. Each has at
// most 1 + `imbalance` times the average FLOPs, or, where no such layers exist, at most what the largest layer must have at least. Of such
// layers those whose largest cut hands on the fewest bytes, and of these those with the least variance of FLOPs.
// Requires: layers >= 1; the chain is not empty.
// Cost: O(layers x chain^2).
[[nodiscard]] std::vector<std::size_t> clustered_layers(std::span<const ChainOperator> chain, std::size_t layers,
                                                        double imbalance = kClusterImbalance);

// Returns: the same for layers of equally many operators: each ends where the count of operators is nearest to its share ("equal operator"
// of section 8.3).
// Requires: as above.
// Cost: O(chain).
[[nodiscard]] std::vector<std::size_t> equal_layers(std::span<const ChainOperator> chain, std::size_t layers);

inline constexpr std::size_t kMostStages = 32;  // of segments

// Parts. segments: cuts as they come, up to 64 parts. layers: operators clustered by Alpa's dynamic program.
// equal_operators: layers with equally many operators. equal_layers: those of the dynamic program, and equally many of them in each
// stage. The last three are those of Alpa's ablation (OSDI'22, section 8.3).
enum class Clustering { segments, layers, equal_operators, equal_layers };

struct PartsConfig {
  Clustering by = Clustering::segments;
  std::size_t layers = 16;  // unless by segments
  std::size_t fewest = 10;  // operators of a segment, where that leaves enough parts for every stage
  [[nodiscard]] std::size_t most_stages() const { return by == Clustering::segments ? kMostStages : layers; }
};

// Where parts end: at bottlenecks, so that what comes from the part before is all of a part's inputs; or after every block as well, where
// other tensors may cross: the output of T5's encoder, which all layers of its decoder read, or a tower next to another.
enum class PartEnds { bottlenecks, blocks };

// Returns: the parts of a graph that stages are made of, runs of operators between cuts, in order, of at least one operator each.
// Cost: that of segments_of(), and O(layers x cuts^2) where they are clustered.
[[nodiscard]] std::vector<Segment> stage_parts(const pcg::Graph& graph, pcg::Precision precision, const PartsConfig& config,
                                               PartEnds ends = PartEnds::bottlenecks);

}  // namespace search
