#include "search/solve/layers/layer_split.hpp"

#include <algorithm>

#include "search/grid/repeated_layers.hpp"

namespace search {

LayerSplit split_into_layers(std::span<const pcg::Block> blocks) {
  LayerSplit split;
  const auto first = std::ranges::find_if(blocks, &pcg::Block::weighty) - blocks.begin();
  std::ptrdiff_t behind = std::ssize(blocks);  // the first block of the head
  while (behind > first && !blocks[static_cast<std::size_t>(behind - 1)].weighty) --behind;
  int layer = 0;
  for (std::ptrdiff_t b = 0; b < std::ssize(blocks); ++b) {
    if (b > 0 && (blocks[static_cast<std::size_t>(b)].weighty || b == behind)) ++layer;
    split.of_block.push_back(layer);
  }
  split.layers = layer + 1;
  return split;
}

ShortModel short_model(const pcg::Graph& model) {
  constexpr std::size_t kKept = 2;
  const RepeatedLayers run = repeated_layers(model);
  const std::size_t kept = std::min(kKept, run.count);
  ShortModel s;
  s.graph = run.count > kKept ? with_layers(model, run, kept) : model;
  s.split = split_into_layers(s.graph.blocks());
  const LayerSplit all = split_into_layers(model.blocks());
  s.layer_like.assign(static_cast<std::size_t>(all.layers), 0);
  for (std::size_t b = model.blocks().size(); b-- > 0;) {
    std::size_t twin = b;
    if (run.count > kKept && b >= run.first + run.unit)
      twin = b < run.first + run.blocks() ? run.first + run.unit + (b - run.first) % run.unit : b - (run.count - kept) * run.unit;
    s.layer_like[static_cast<std::size_t>(all.of_block[b])] = static_cast<std::size_t>(s.split.of_block[twin]);
  }
  return s;
}

}  // namespace search
