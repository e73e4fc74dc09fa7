#pragma once
// From a PCG back to a computation graph.

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// Returns the same graph without parallelism: no parallel operators, every degree 1, additions (of one summand: an
// identity) in place of summands. serial(parallelize(g, shardings)) == g, but where g has summands. Requires: the operators stand in the
// order of their blocks (violations() of a plan says where not).
[[nodiscard]] Graph serial(const Pcg& pcg);

}  // namespace pcg
