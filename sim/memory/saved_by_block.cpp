#include "sim/memory/saved_by_block.hpp"

#include <algorithm>

#include "pcg/plan/recomputed_units.hpp"
#include "sim/memory/activations.hpp"

namespace sim {
namespace {

class BlockCounter {
 public:
  BlockCounter(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework, std::size_t devices,
               bool copies_attention_output)
      : plan_(plan), devices_(devices), activations_(plan, flow, framework, copies_attention_output), empty_(activations_) {}

  SavedByBlock run(std::span<const std::uint32_t> nodes) {
    std::vector<std::uint32_t> others(nodes.begin(), nodes.end());
    const std::vector<pcg::RecomputedUnit> units = pcg::recomputed_units(plan_, plan_.recompute, nodes);
    for (const pcg::RecomputedUnit& unit : units)
      if (!unit.keeps_outputs) activations_.drop(unit.nodes);
    for (const pcg::RecomputedUnit& unit : units) {
      std::erase_if(others, [&](std::uint32_t n) { return std::ranges::binary_search(unit.nodes, n); });
      add(unit);
    }
    const auto scores = plan_.recompute == pcg::Recompute::selective ? Activations::Scores::dropped : Activations::Scores::kept;
    std::map<int, std::vector<std::uint32_t>> by_block;
    for (const std::uint32_t n : others) by_block[block_of(n)].push_back(n);
    for (const auto& [block, members] : by_block) activations_.keep(members, scores, saved_of(block));
    if (scores == Activations::Scores::dropped)
      for (const auto& [block, members] : by_block) activations_.largest_attention(members, of_block(kept_.again, block));
    return std::move(kept_);
  }

 private:
  [[nodiscard]] int block_of(std::uint32_t node) const { return plan_.pcg.nodes()[node].block; }
  std::vector<double>& of_block(std::map<int, std::vector<double>>& blocks, int block) const {
    std::vector<double>& bytes = blocks[block];
    bytes.resize(devices_, 0);
    return bytes;
  }
  std::vector<double>& saved_of(int block) { return of_block(kept_.saved, block); }

  void add(const pcg::RecomputedUnit& unit) {
    activations_.save_inputs(unit.nodes, saved_of(block_of(unit.nodes.front())));
    Activations again = empty_;
    std::vector<double> all(devices_, 0), inputs(devices_, 0);
    again.keep(unit.nodes, Activations::Scores::kept, all);
    if (!unit.keeps_outputs) again.save_outputs(unit.nodes, all);
    again.clear();
    again.save_inputs(unit.nodes, inputs);
    std::vector<double>& most = of_block(kept_.again, block_of(unit.nodes.front()));
    for (std::size_t d = 0; d < devices_; ++d) most[d] = std::max(most[d], all[d] - inputs[d]);
  }

  const pcg::Plan& plan_;
  std::size_t devices_;
  Activations activations_;
  const Activations empty_;  // with nothing kept or dropped yet
  SavedByBlock kept_;
};

}  // namespace

SavedByBlock saved_by_block(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                            std::span<const std::uint32_t> nodes, std::size_t devices, bool copies_attention_output) {
  return BlockCounter(plan, flow, framework, devices, copies_attention_output).run(nodes);
}

OffloadedBlocks offloaded_blocks(const pcg::Plan& plan, std::span<const std::uint32_t> nodes, int stage) {
  OffloadedBlocks offloaded;
  if (!plan.memory.offload.activations) return offloaded;
  const std::span<const pcg::Block> blocks = plan.pcg.blocks();
  std::vector<int> layers;
  for (const std::uint32_t n : nodes) {
    const int block = plan.pcg.nodes()[n].block;
    if (blocks[static_cast<std::size_t>(block)].weighty && (layers.empty() || layers.back() != block)) layers.push_back(block);
  }
  const auto leaves = [&](int block) {
    const auto later = blocks.begin() + block + 1;
    return stage + 1 < plan.stages || std::any_of(later, blocks.end(), [](const pcg::Block& b) { return b.weighty && !b.auxiliary; });
  };
  const std::size_t all = layers.size();
  const auto most = static_cast<std::size_t>(plan.memory.offload.blocks);
  const std::size_t count = most > 0 ? std::min(most, all) : all;
  for (std::size_t i = 0; i < count; ++i) {
    if (!leaves(layers[i])) continue;
    const std::size_t due = std::max(i + 2, (i + 1) * all / count);
    offloaded[layers[i]].due = due < all ? std::optional(layers[due]) : std::nullopt;
  }
  return offloaded;
}

OffloadedBlocks offloaded_activations(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                      int stage) {
  const std::span<const std::uint32_t> nodes = flow.stage_nodes[static_cast<std::size_t>(stage)];
  OffloadedBlocks offloaded = offloaded_blocks(plan, nodes, stage);
  if (offloaded.empty()) return offloaded;
  const SavedByBlock kept = saved_by_block(plan, flow, framework, nodes, static_cast<std::size_t>(plan.gpus));
  for (const auto& [block, saved] : kept.saved)
    if (const auto at = offloaded.find(block); at != offloaded.end()) at->second.bytes = *std::ranges::max_element(saved);
  std::erase_if(offloaded, [](const auto& entry) { return entry.second.bytes == 0; });
  return offloaded;
}

}  // namespace sim
