#pragma once
// Both kinds of graph as text for Graphviz.

#include <string>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// DOT text, parallel operators coloured.
[[nodiscard]] std::string to_dot(const Pcg& pcg);
[[nodiscard]] std::string to_dot(const Graph& graph);

}  // namespace pcg
