#pragma once
// Weights that ZeRO-1 and -2 have updated in shards, gathered when the next iteration begins: bucket by bucket in the order of the layers,
// beside the forward pass of the first micro-batch, whose kernels wait for the weights that they read. Iterations follow each other, so
// each one begins so. Internal to sim/lowering.

#include <map>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

class UpdatedWeights {
 public:
  // Puts the gathers of a stage's weights at the end of `block`.
  UpdatedWeights(const Lowering& l, Block& block, int stage);

  // The gathers of the weights that a node reads, as items of the block.
  [[nodiscard]] std::vector<std::uint32_t> before(std::uint32_t node) const;

 private:
  const Lowering& l_;
  std::map<std::uint32_t, std::uint32_t> gather_of_;  // by weight
};

}  // namespace sim
