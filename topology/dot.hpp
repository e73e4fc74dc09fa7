#pragma once
// A cluster as a drawing.

#include <string>

#include "topology/cluster.hpp"

namespace topology {

// Returns: DOT text of one node of each type, with its wires, and of how the nodes are joined.
[[nodiscard]] std::string to_dot(const Cluster& c);

}  // namespace topology
