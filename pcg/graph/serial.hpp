#pragma once
// From a PCG back to a computation graph.

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// Returns the same graph without parallelism: no parallel operators, every degree 1, additions in place of summands.
// serial(parallelize(g, shardings)) == g, but for additions where g has summands.
[[nodiscard]] Graph serial(const Pcg& pcg);

}  // namespace pcg
