#pragma once
// The layers that strategies are chosen for, and a model with fewer of them: layers that repeat cost the same.

#include <cstddef>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace search {

struct LayerSplit {
  // Of each block: a weighty block with those without weight behind it is a layer; what stands before the first one (an embedding) and
  // behind the last one (a head) are layers of their own.
  std::vector<int> of_block;
  int layers = 1;
};

[[nodiscard]] LayerSplit split_into_layers(std::span<const pcg::Block> blocks);

// A model with the first two units of its repeated layers, which says what all of them cost.
struct ShortModel {
  pcg::Graph graph;
  LayerSplit split;                     // of `graph`
  std::vector<std::size_t> layer_like;  // by layer of the whole model: its twin in `graph`; the twins of layers in a row are in a row, or
                                        // equal to those one unit before
};
[[nodiscard]] ShortModel short_model(const pcg::Graph& model);

}  // namespace search
