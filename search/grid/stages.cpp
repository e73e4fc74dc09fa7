#include "search/grid/stages.hpp"

#include <algorithm>
#include <limits>

namespace search {
namespace {

bool shrinks(const pcg::ParallelOperator& op) {
  return std::holds_alternative<pcg::Reduce>(op) || std::holds_alternative<pcg::Discard>(op) || std::holds_alternative<pcg::Partition>(op);
}

// Whether a tensor comes straight from a weight or the data: those lie where they are read.
std::vector<bool> from_sources(const pcg::Pcg& pcg) {
  std::vector<bool> result;
  for (const pcg::PcgNode& n : pcg.nodes())
    result.push_back(n.is_source() || (n.parallel_operator() != nullptr && result[n.inputs[0].node.value]));
  return result;
}

}  // namespace

std::vector<int> layers_of_blocks(std::span<const pcg::Block> blocks) {
  std::vector<int> layers;
  int seen = 0;
  for (const pcg::Block& b : blocks) {
    if (b.weighty) ++seen;
    layers.push_back(std::max(0, seen - 1));
  }
  return layers;
}

std::vector<int> stages_of_blocks(std::span<const pcg::Block> blocks, std::span<const int> layers_per_stage) {
  std::vector<int> stage_of_layer;
  for (std::size_t s = 0; s < layers_per_stage.size(); ++s)
    stage_of_layer.insert(stage_of_layer.end(), static_cast<std::size_t>(layers_per_stage[s]), static_cast<int>(s));
  if (stage_of_layer.empty()) stage_of_layer.push_back(0);
  std::vector<int> stages;
  for (const int layer : layers_of_blocks(blocks)) stages.push_back(stage_of_layer.at(static_cast<std::size_t>(layer)));
  const BareEnds ends = may_be_bare(blocks);
  const auto is_bare = [&](std::size_t stage) { return layers_per_stage.size() > 1 && layers_per_stage[stage] == 0; };
  if (ends.first && is_bare(0))
    for (std::size_t b = 0; !blocks[b].weighty; ++b) stages[b] = 0;
  if (ends.last && is_bare(layers_per_stage.size() - 1))
    for (std::size_t b = blocks.size(); !blocks[b - 1].weighty; --b) stages[b - 1] = static_cast<int>(layers_per_stage.size()) - 1;
  return stages;
}

BareEnds may_be_bare(std::span<const pcg::Block> blocks) {
  const bool layers = std::ranges::any_of(blocks, &pcg::Block::weighty);
  return {layers && !blocks.front().weighty, layers && !blocks.back().weighty};
}

std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages) {
  std::vector<int> stage;
  for (const pcg::PcgNode& n : pcg.nodes()) stage.push_back(block_stages[static_cast<std::size_t>(n.block)]);
  return stages_around_operators(pcg, std::move(stage));
}

std::vector<int> stages_around_operators(const pcg::Pcg& pcg, std::vector<int> stage) {
  const std::size_t count = pcg.nodes().size();
  const auto consumers = pcg.consumers();
  const std::vector<bool> sources = from_sources(pcg);
  const auto first_reader = [&](std::size_t n) {
    int first = std::numeric_limits<int>::max();
    for (pcg::NodeId c : consumers[n]) first = std::min(first, stage[c.value]);
    return consumers[n].empty() ? stage[n] : first;
  };
  // Backwards, readers are known: growing movements and sources go to their first reader. Forwards, the rest stays with its producer.
  for (std::size_t n = count; n-- > 0;)
    if (sources[n] || pcg.nodes()[n].parallel_operator() != nullptr) stage[n] = first_reader(n);
  for (std::size_t n = 0; n < count; ++n)
    if (const auto* m = pcg.nodes()[n].parallel_operator(); m != nullptr && !sources[n] && shrinks(*m))
      stage[n] = stage[pcg.nodes()[n].inputs[0].node.value];
  return stage;
}

}  // namespace search
