#pragma once
// From the parallel shapes of an operator's inputs back to the sharding that reads them so.

#include <optional>
#include <span>

#include "pcg/sharding/sharding.hpp"

namespace pcg {

// Returns the sharding that makes an operator accept inputs of these parallel shapes, or nullopt where none is lawful. The degrees of
// loops follow from the dims that they index, copies and sums from the rest. A loop that no input has stays whole.
[[nodiscard]] std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs);

}  // namespace pcg
