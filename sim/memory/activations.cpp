#include "sim/memory/activations.hpp"

#include <algorithm>

#include "pcg/plan/low_precision.hpp"
#include "pcg/plan/recomputed_units.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/work/work.hpp"
#include "profiles/device_profile.hpp"
#include "sim/dataflow/internal_movement.hpp"
#include "sim/dataflow/token_routing.hpp"

namespace sim {
namespace {

// Halos of images that came from neighbours are kept by who reads them, beside the tensor.
pcg::Saved saved_of(const pcg::Plan& plan, pcg::NodeId id) {
  const pcg::PcgNode& n = plan.pcg.node(id);
  const auto wholes = plan.pcg.whole_inputs(id), shards = plan.pcg.shard_inputs(id);
  const pcg::Precision p = plan.training.precision;
  pcg::Saved saved = pcg::saved_for_backward(pcg::shard_operator(*n.operation(), wholes, shards), shards, plan.pcg.shard_outputs(id), p);
  const auto read = pcg::shards_with_halos(*n.operation(), *n.space, n.sharding, wholes);
  for (std::size_t i = 0; i < read.size(); ++i)
    if (saved.inputs[i]) saved.own += pcg::bytes_of(read[i], p) - pcg::bytes_of(shards[i], p);
  return saved;
}

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

base::Bytes keys_of_others(const pcg::Plan& plan, std::uint32_t node) {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  const auto* attention = std::get_if<pcg::Attention>(n.operation());
  if (attention == nullptr) return {};
  base::Bytes bytes;
  for (const pcg::InternalCollective& c : pcg::internal_collectives(*attention, *n.space, n.sharding, plan.pcg.whole_inputs(id))) {
    if (!c.backward) continue;
    const base::Bytes whole = pcg::bytes_of(c.shape, plan.training.precision);
    const int points = n.sharding.degrees[static_cast<std::size_t>(c.loop)];
    bytes += has_ring(plan, *attention) ? whole * (2.0 / points) : whole;
  }
  return bytes;
}

base::Bytes tokens_of_others(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const std::int64_t ranks = plan.dispatch == pcg::Dispatch::all_gather ? ranks_of_experts(plan, flow, node) : 1;
  if (ranks == 1) return {};
  const pcg::NodeId id(node);
  const bool to_experts = std::holds_alternative<pcg::MoeDispatch>(*plan.pcg.node(id).operation());
  const pcg::TensorShape own = (to_experts ? plan.pcg.shard_inputs(id) : plan.pcg.shard_outputs(id))[0];
  return static_cast<double>(ranks) * pcg::bytes_of(own, plan.training.precision);
}

bool copies_attention_output(const pcg::Plan& plan, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework) {
  const std::set<std::string>& copied = framework.memory.copied_attention_output;
  return !copied.empty() &&
         std::ranges::any_of(cluster.devices().first(static_cast<std::size_t>(plan.gpus)),
                             [&](const topology::Device& d) { return copied.contains(profiles::generation_of(d.type)); });
}

// A product in low precision keeps what it read cast, along columns where these differ from rows, for the gradient of its weights.
Activations::Copy Activations::copy_of(std::uint32_t node, std::size_t input) const {
  if (plan_.memory.fp8_activation_inputs && saves_activation_input(plan_, flow_, node)) return Copy::fp8;
  return input == 0 && pcg::multiplies_low(plan_, plan_.pcg.node(pcg::NodeId(node))) ? Copy::operand : Copy::as_it_is;
}

void Activations::save_tensor(pcg::TensorRef tensor, const Layout& layout, std::vector<double>& bytes, Copy copy) {
  // Copies differ in who holds them, not in what is held: the key is what a device holds of the tensor, and who.
  std::vector<std::int64_t> key{static_cast<std::int64_t>(copy)};
  for (const pcg::ParallelDim& d : layout.shape.dims) key.push_back(d.degree);
  for (base::DeviceId d : layout.devices) key.push_back(d.value);
  if (!kept_.insert({tensor, std::move(key)}).second) return;
  const pcg::TensorShape part = layout.shape.shard();
  double shard = pcg::bytes_of(part, plan_.training.precision).value();
  if (copy == Copy::fp8) shard = static_cast<double>(part.elements());
  if (copy == Copy::operand) shard = pcg::operand_format(plan_.training, false).rows * static_cast<double>(part.elements());
  for (base::DeviceId d : layout.devices) bytes[d.value] += shard;
}

const Layout& Activations::saved_layout(std::uint32_t node, std::size_t input) const {
  const pcg::TensorRef from = flow_.origins[node][input];
  const Layout& read = flow_.layouts[node].inputs[input];
  if (!plan_.pcg.node(from.node).computes()) return read;
  const Layout& made = flow_.layouts[from.node.value].outputs[static_cast<std::size_t>(from.output)];
  const bool gathered = made.shape.sum == 1 && made.shape.shard().elements() < read.shape.shard().elements() &&
                        plan_.stage[from.node.value] == plan_.stage[node];
  return gathered ? made : read;
}

bool Activations::is_computed_again(std::uint32_t node, std::size_t input) const {
  return framework_.fused_gated_activation && activated_input(plan_, flow_, node) == input;
}

bool Activations::saves_norm_separately(std::uint32_t node) const {
  const auto* norm = std::get_if<pcg::LayerNorm>(plan_.pcg.node(pcg::NodeId(node)).operation());
  return norm != nullptr && norm->rms && framework_.memory.rms_norm.value() > 0 && pcg::is_half(plan_.training.precision);
}

double Activations::saved_by_framework(std::uint32_t node) const {
  const pcg::Operator& op = *plan_.pcg.node(pcg::NodeId(node)).operation();
  const pcg::Precision precision = plan_.training.precision;
  if (saves_norm_separately(node)) return framework_.memory.rms_norm.value() * flow_.layouts[node].inputs[0].shard_elements();
  if (std::holds_alternative<pcg::CrossEntropy>(op) && pcg::is_half(precision))
    return (framework_.memory.loss_kept.value() - 4) * flow_.layouts[node].inputs[0].shard_elements();
  if (const auto* attention = std::get_if<pcg::Attention>(&op))
    return attention->flash && copies_attention_output_ ? pcg::bytes_of(flow_.layouts[node].outputs[0].shape.shard(), precision).value()
                                                        : 0;
  // A gated unit in one kernel weighs its product as it computes it.
  if (!std::holds_alternative<pcg::ExpertLinear>(op) || !framework_.memory.weighed_activations) return 0;
  const std::uint32_t from = flow_.origins[node][0].node.value;
  const pcg::PcgNode& maker = plan_.pcg.node(pcg::NodeId(from));
  const bool weighed =
      maker.computes() && (std::holds_alternative<pcg::Unary>(*maker.operation()) ||
                           (std::holds_alternative<pcg::Binary>(*maker.operation()) && !framework_.fused_gated_activation));
  return weighed && !is_dropped(from, node) ? pcg::bytes_of(flow_.layouts[node].inputs[0].shape.shard(), precision).value() : 0;
}

void Activations::keep(std::span<const std::uint32_t> nodes, Scores scores, std::vector<double>& bytes) {
  for (std::uint32_t n : nodes) {
    if (!flow_.needs_gradient[n] || dropped_.contains(n)) continue;
    const pcg::NodeId id(n);
    const pcg::Saved saved = saved_of(plan_, id);
    // An operand of a product is saved for the gradient of its weight alone.
    const bool saves_operand = !pcg::multiplies_for_weights(*plan_.pcg.node(id).operation()) || trains_weights(flow_, n);
    for (std::size_t i = 0; i < flow_.origins[n].size(); ++i) {
      if (saved.inputs[i] && (i > 0 || (saves_operand && !saves_norm_separately(n))) && !flow_.stored[flow_.origins[n][i].node.value] &&
          !is_computed_again(n, i) && !is_dropped(flow_.origins[n][i].node.value, n))
        save_tensor(flow_.origins[n][i], saved_layout(n, i), bytes, copy_of(n, i));
    }
    for (std::size_t j = 0; j < saved.outputs.size(); ++j) {
      if (saved.outputs[j]) save_tensor({id, static_cast<int>(j)}, flow_.layouts[n].outputs[j], bytes);
    }
    double own = saved.own.value() + saved_by_framework(n) - (scores == Scores::kept ? 0 : saved.own_attention.value());
    if (saved.own_joined.value() > 0 && is_dropped(flow_.origins[n][1].node.value, n)) own -= saved.own_joined.value();
    for (base::DeviceId d : flow_.layouts[n].points) bytes[d.value] += own;
  }
}

void Activations::save_inputs(std::span<const std::uint32_t> nodes, std::vector<double>& bytes) {
  for (std::uint32_t n : nodes) {
    for (std::size_t i = 0; i < flow_.origins[n].size(); ++i) {
      const pcg::TensorRef from = flow_.origins[n][i];
      if (flow_.stored[from.node.value] || std::ranges::binary_search(nodes, from.node.value)) continue;
      const bool is_cast = plan_.memory.fp8_activation_inputs && saves_activation_input(plan_, flow_, n);
      if (!is_dropped(from.node.value, n)) save_tensor(from, saved_layout(n, i), bytes, is_cast ? Copy::fp8 : Copy::as_it_is);
    }
  }
}

void Activations::save_for_weights(std::span<const std::uint32_t> nodes, std::vector<double>& bytes) {
  for (const std::uint32_t n : nodes) {
    if (!trains_weights(flow_, n) || !pcg::multiplies_for_weights(*plan_.pcg.node(pcg::NodeId(n)).operation())) continue;
    for (std::size_t i = 0; i < flow_.origins[n].size(); ++i)
      if (!flow_.stored[flow_.origins[n][i].node.value]) save_tensor(flow_.origins[n][i], saved_layout(n, i), bytes, copy_of(n, i));
    double gradients = 0;
    for (const Layout& l : flow_.layouts[n].output_gradients) gradients += pcg::bytes_of(l.shape.shard(), plan_.training.precision).value();
    for (const base::DeviceId d : flow_.layouts[n].points) bytes[d.value] += gradients;
  }
}

void Activations::save_outputs(std::span<const std::uint32_t> nodes, std::vector<double>& bytes) {
  for (const std::uint32_t n : nodes)
    for (std::size_t j = 0; j < flow_.uses[n].size(); ++j) {
      const auto is_outside = [&](const Use& use) {
        return plan_.stage[use.consumer] == plan_.stage[n] && !std::ranges::binary_search(nodes, use.consumer);
      };
      if (std::ranges::any_of(flow_.uses[n][j], is_outside))
        save_tensor({pcg::NodeId(n), static_cast<int>(j)}, flow_.layouts[n].outputs[j], bytes);
    }
}

void Activations::largest_attention(std::span<const std::uint32_t> nodes, std::vector<double>& bytes) const {
  for (std::uint32_t n : nodes) {
    const pcg::NodeId id(n);
    const pcg::Operator& op = *plan_.pcg.node(id).operation();
    if (!std::holds_alternative<pcg::Attention>(op)) continue;
    const pcg::Saved saved = saved_of(plan_, id);
    for (base::DeviceId d : flow_.layouts[n].points) bytes[d.value] = std::max(bytes[d.value], saved.own_attention.value());
  }
}

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
