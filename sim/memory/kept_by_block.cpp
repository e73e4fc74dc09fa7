#include "sim/memory/kept_by_block.hpp"

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

  KeptByBlock run(std::span<const std::uint32_t> nodes) {
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
    activations_.keep_inputs(unit.nodes, saved_of(block_of(unit.nodes.front())));
    Activations again = empty_;
    std::vector<double> all(devices_, 0), inputs(devices_, 0);
    again.keep(unit.nodes, Activations::Scores::kept, all);
    if (!unit.keeps_outputs) again.keep_outputs(unit.nodes, all);
    again.clear();
    again.keep_inputs(unit.nodes, inputs);
    std::vector<double>& most = of_block(kept_.again, block_of(unit.nodes.front()));
    for (std::size_t d = 0; d < devices_; ++d) most[d] = std::max(most[d], all[d] - inputs[d]);
  }

  const pcg::Plan& plan_;
  std::size_t devices_;
  Activations activations_;
  const Activations empty_;  // with nothing kept or dropped yet
  KeptByBlock kept_;
};

}  // namespace

KeptByBlock kept_by_block(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                          std::span<const std::uint32_t> nodes, std::size_t devices, bool copies_attention_output) {
  return BlockCounter(plan, flow, framework, devices, copies_attention_output).run(nodes);
}

bool is_offloaded(const pcg::Plan& plan, int stage, int block) {
  const std::span<const pcg::Block> blocks = plan.pcg.blocks();
  if (!plan.memory.offload.activations || !blocks[static_cast<std::size_t>(block)].weighty) return false;
  const auto later = blocks.begin() + block + 1;
  return stage + 1 < plan.stages || std::any_of(later, blocks.end(), [](const pcg::Block& b) { return b.weighty && !b.auxiliary; });
}

std::map<int, double> offloaded_bytes(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                      int stage) {
  std::map<int, double> bytes;
  if (!plan.memory.offload.activations) return bytes;
  const auto kept =
      kept_by_block(plan, flow, framework, flow.stage_nodes[static_cast<std::size_t>(stage)], static_cast<std::size_t>(plan.gpus));
  for (const auto& [block, saved] : kept.saved)
    if (const double most = *std::ranges::max_element(saved); most > 0 && is_offloaded(plan, stage, block)) bytes.emplace(block, most);
  return bytes;
}

}  // namespace sim
