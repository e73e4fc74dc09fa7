#pragma once
// Low-rank adapters (LoRA; Hu et al., arXiv 2106.09685, section 4.1): a model's own weights stay as they are, and beside chosen linear
// layers two narrow ones are trained, whose result is added to theirs.

#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

struct Adapters {
  std::int64_t rank = 0;
  std::vector<std::string> on;  // last words of the names of the linear layers that get one ("qkv" of "layer3.attention.qkv")
};

// The last words of the names of linear layers that can get one, each once, in the order of the graph.
[[nodiscard]] std::vector<std::string> adaptable(const Graph& graph);

// All weights frozen; after each chosen layer L: L.lora_a of `rank` outputs on what L reads, L.lora_b as wide as L, and the sum L.lora.
// The factor alpha / rank is part of that sum. Requires: every word of `on` is one of adaptable(). Cost: O(nodes).
[[nodiscard]] Graph with_adapters(const Graph& graph, const Adapters& adapters);

}  // namespace pcg::models
