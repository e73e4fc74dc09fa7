#pragma once
// Operator clustering: a chain of operators becomes a shorter chain of layers, of which the stages of a pipeline are made (Zheng et al.,
// "Alpa", OSDI'22, section 5.3, equation 6).

#include <cstddef>
#include <span>
#include <vector>

namespace search {

// An operator of a chain, or several that are not parted.
struct ChainOperator {
  double flops = 0;
  double bytes_on = 0;        // what a cut behind it has to hand on
  std::size_t operators = 1;  // how many it stands for
};

// How much more FLOPs than the average a layer may have: what the authors' program uses (alpa-projects/alpa at b8078a9,
// layer_construction).
inline constexpr double kClusterImbalance = 0.5;

// Returns: where each layer ends, one past its last operator, ascending: min(layers, chain.size()) layers, none of them empty. Each has at
// most 1 + `imbalance` times the average FLOPs, or, where no such layers exist, at most what the largest layer must have at least. Of such
// layers those whose largest cut hands on the fewest bytes, and of these those with the least variance of FLOPs.
// Requires: layers >= 1; the chain is not empty. Cost: O(layers x chain^2).
[[nodiscard]] std::vector<std::size_t> clustered_layers(std::span<const ChainOperator> chain, std::size_t layers,
                                                        double imbalance = kClusterImbalance);

// Returns the same for layers of equally many operators: each ends where the count of operators is nearest to its share ("equal operator"
// of section 8.3). Requires: as above. Cost: O(chain).
[[nodiscard]] std::vector<std::size_t> equal_layers(std::span<const ChainOperator> chain, std::size_t layers);

}  // namespace search
