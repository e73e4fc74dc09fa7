#include "search/grid/stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace search {
namespace {

bool shrinks(const pcg::ParallelOperator& op) {
  return std::holds_alternative<pcg::Reduce>(op) || std::holds_alternative<pcg::Discard>(op) || std::holds_alternative<pcg::Partition>(op);
}

// Whether a tensor comes straight from a weight or the data, which lie where they are read.
std::vector<bool> from_sources(const pcg::Pcg& pcg) {
  std::vector<bool> result;
  for (const pcg::PcgNode& n : pcg.nodes())
    result.push_back(n.is_source() || (n.parallel_operator() != nullptr && result[n.inputs[0].node.value]));
  return result;
}

// The stages of operators, with those of sources and of movements between operators filled in.
std::vector<int> with_movements(const pcg::Pcg& pcg, std::vector<int> stage) {
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

}  // namespace

std::vector<int> units_of_blocks(std::span<const pcg::Block> blocks) {
  std::vector<int> units;
  int layers = 0;
  const BareEnds ends = may_be_bare(blocks);
  for (const pcg::Block& b : blocks) {
    if (b.weighty) ++layers;
    units.push_back(ends.first ? layers : std::max(1, layers));
  }
  if (ends.last)
    for (std::size_t b = blocks.size(); !blocks[b - 1].weighty; --b) units[b - 1] = layers + 1;
  return units;
}

std::vector<int> stages_of_blocks(std::span<const pcg::Block> blocks, std::span<const int> layers_per_stage) {
  std::vector<int> stage_of_unit{0};
  for (std::size_t s = 0; s < layers_per_stage.size(); ++s)
    stage_of_unit.insert(stage_of_unit.end(), static_cast<std::size_t>(layers_per_stage[s]), static_cast<int>(s));
  if (stage_of_unit.size() == 1) stage_of_unit.push_back(0);
  stage_of_unit.push_back(static_cast<int>(layers_per_stage.size()) - 1);
  std::vector<int> stages;
  for (const int unit : units_of_blocks(blocks)) stages.push_back(stage_of_unit.at(static_cast<std::size_t>(unit)));
  return stages;
}

BareEnds may_be_bare(std::span<const pcg::Block> blocks) {
  const bool layers = std::ranges::any_of(blocks, &pcg::Block::weighty);
  return {layers && !blocks.front().weighty, layers && !blocks.back().weighty};
}

std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages) {
  std::vector<int> stage;
  for (const pcg::PcgNode& n : pcg.nodes()) stage.push_back(block_stages[static_cast<std::size_t>(n.block)]);
  return with_movements(pcg, std::move(stage));
}

std::vector<int> stages_around_operators(const pcg::Pcg& pcg, const std::vector<int>& stage_of) {
  std::vector<int> stage;
  std::size_t node = 0;  // parallelize() keeps the graph's nodes in order
  for (const pcg::PcgNode& n : pcg.nodes()) stage.push_back(n.parallel_operator() != nullptr ? 0 : stage_of[node++]);
  return with_movements(pcg, std::move(stage));
}

std::string layers_text(std::span<const int> layers_per_stage) {
  std::string text;
  for (auto at = layers_per_stage.begin(); at != layers_per_stage.end();) {
    const auto next = std::find_if(at, layers_per_stage.end(), [&](int n) { return n != *at; });
    if (!text.empty()) text += " + ";
    text += next - at > 1 ? fmt::format("{} x {}", next - at, *at) : fmt::format("{}", *at);
    at = next;
  }
  return text;
}

}  // namespace search
