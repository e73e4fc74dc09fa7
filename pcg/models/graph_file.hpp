#pragma once
// A computation graph as text.

#include <string>

#include "base/yaml/tree.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models {

// Our text form of a graph, version 1 (docs/formats.md). read_graph(parse(write_graph(g))) == g where no node's name ends in
// a colon and a number, which names an output.
[[nodiscard]] std::string write_graph(const Graph& g);
[[nodiscard]] Graph read_graph(const base::Yaml& document, const std::string& path);

}  // namespace pcg::models
