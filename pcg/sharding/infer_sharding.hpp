#pragma once
// From the parallel shapes of an operator's inputs back to the sharding that reads them so.

#include <optional>
#include <span>

#include "pcg/sharding/sharding.hpp"

namespace pcg {

// Returns the sharding that makes an operator accept inputs of these parallel shapes, or nullopt where the one that follows from
// them is not lawful there. The degrees of loops follow from the dims that they index, copies and sums from the rest. A loop that no input
// has stays whole. Outputs are not looked at: whoever adds the operator finds out whether they can be cut so.
[[nodiscard]] std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs);

}  // namespace pcg
