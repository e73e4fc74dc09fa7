#pragma once
// The strategies of a layer on the devices of a stage: UniAP's and Galvatron's (Miao et al., VLDB'23) data, tensor and sharded data
// parallelism, whose degrees multiply to the number of devices.

#include <optional>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/solve/layers/layer_split.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

// How a layer is cut: samples among data and sharded data parallelism together, and Megatron-LM's cuts.
struct LayerCut {
  int samples = 1, tensor = 1;
  bool tensor_is_inside = true;  // neighbours are of one tensor group; else of one group of samples
  auto operator<=>(const LayerCut&) const = default;
};

struct LayerStrategy {
  LayerCut cut;
  std::size_t cut_number = 0;  // in layer_cuts()
  int shards = 1;              // of the devices that share samples, those that share out weights, gradients and optimizer state (ZeRO 3)
  bool is_recomputed = false;  // in the backward pass, from its inputs
};

// Returns: every cut. Each order of the devices comes once.
[[nodiscard]] std::vector<LayerCut> layer_cuts(int devices);
// Returns: each cut with whole weights, and, where devices share samples, with shares of them; each kept, and recomputed.
[[nodiscard]] std::vector<LayerStrategy> layer_strategies(int devices);

// The ways of all operators of a graph that is a micro-batch, on devices 0 to samples x tensor - 1; those of sources are empty. Operators
// are cut as on a grid (search/grid/layout.hpp), each layer by itself. nullopt: samples or heads do not divide.
[[nodiscard]] std::optional<std::vector<Strategy>> operators_of_cut(const pcg::Graph& graph, const LayerSplit& split, const LayerCut& cut);

// The same way, with the block's first device in the place of device 0.
[[nodiscard]] Strategy on_block(Strategy strategy, DeviceBlock block);

// "data 2 x tensor 4", "shards 8", "one device", with the order where tensor groups are not neighbours, and "recomputed".
[[nodiscard]] std::string to_text(const LayerStrategy& strategy);

}  // namespace search
