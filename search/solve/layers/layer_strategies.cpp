#include "search/solve/layers/chain_costs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "search/grid/layout.hpp"
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
    std::size_t counterpart = b;
    if (run.count > kKept && b >= run.first + run.unit)
      counterpart = b < run.first + run.blocks() ? run.first + run.unit + (b - run.first) % run.unit : b - (run.count - kept) * run.unit;
    s.layer_like[static_cast<std::size_t>(all.of_block[b])] = static_cast<std::size_t>(s.split.of_block[counterpart]);
  }
  return s;
}

std::vector<LayerCut> layer_cuts(int devices) {
  std::vector<LayerCut> all;
  for (int tensor = 1; tensor <= devices; ++tensor) {
    if (devices % tensor != 0) continue;
    const int samples = devices / tensor;
    all.push_back({samples, tensor, true});
    if (samples > 1 && tensor > 1) all.push_back({samples, tensor, false});
  }
  return all;
}

std::vector<LayerStrategy> layer_strategies(int devices) {
  std::vector<LayerStrategy> all;
  const std::vector<LayerCut> cuts = layer_cuts(devices);
  for (const bool is_recomputed : {false, true})
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      all.push_back({cuts[c], c, 1, is_recomputed});
      if (cuts[c].samples > 1) all.push_back({cuts[c], c, cuts[c].samples, is_recomputed});
    }
  return all;
}

std::optional<std::vector<Strategy>> operators_of_cut(const pcg::Graph& graph, const LayerSplit& split, const LayerCut& cut) {
  const std::int64_t batch = graph.batch();
  if (batch % cut.samples != 0) return std::nullopt;
  const int devices = cut.samples * cut.tensor;
  const Attempt<Grid> grid = make_grid({.tensor = cut.tensor, .data = cut.samples, .micro_batch = batch / cut.samples}, devices, batch);
  if (!grid) return std::nullopt;
  const Attempt<std::vector<Layout>> node_layouts = layouts(graph, *grid, split.of_block);
  if (!node_layouts) return std::nullopt;
  std::vector<Strategy> strategies(graph.nodes().size());
  constexpr std::array kPlaces = {0, 0};
  for (std::size_t n = 0; n < strategies.size(); ++n) {
    const Layout& layout = (*node_layouts)[n];
    if (layout.loops.empty()) continue;
    Strategy& s = strategies[n];
    s.sharding = layout.sharding(*grid);
    s.view = layout.view(*grid, kPlaces);
    if (cut.tensor_is_inside) continue;
    std::vector<base::DeviceId> turned;
    for (const base::DeviceId d : pcg::devices_of(s.view, s.sharding)) {
      const int device = static_cast<int>(d.value);
      turned.emplace_back(static_cast<std::size_t>(device % cut.tensor * cut.samples + device / cut.tensor));
    }
    s.view = pcg::compact({.devices = std::move(turned)}, s.sharding);
  }
  return strategies;
}

Strategy on_block(Strategy strategy, DeviceBlock block) {
  const auto start = static_cast<std::size_t>(block.start);
  strategy.view.start = base::DeviceId(strategy.view.start.value + start);
  for (base::DeviceId& d : strategy.view.devices) d = base::DeviceId(d.value + start);
  return strategy;
}

std::string to_text(const LayerStrategy& s) {
  std::string text;
  const auto part = [&](const char* name, int degree) {
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, degree);
  };
  part("data", s.cut.samples / s.shards);
  part("shards", s.shards);
  part("tensor", s.cut.tensor);
  if (text.empty()) text = "one device";
  if (!s.cut.tensor_is_inside) text += " (data inside)";
  return s.is_recomputed ? text + ", recomputed" : text;
}

}  // namespace search
