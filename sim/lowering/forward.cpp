#include "sim/lowering/passes.hpp"

#include <algorithm>

#include "sim/lowering/kernel_slices.hpp"

namespace sim {

template <class Weights>
void ForwardEmitter::emit(std::span<const std::uint32_t> nodes, Weights weights) {
  nodes_ = nodes;
  for (std::uint32_t n : nodes) {
    offload_before(n);
    wait_for(weights.before(n));
    emit_node(n);
  }
  offload_last();
}

void ForwardEmitter::offload_before(std::uint32_t node) {
  const int block = l_.plan.pcg.nodes()[node].block;
  if (l_.offloaded.empty() || block == current_block_) return;
  if (current_block_ >= 0) offload_last();
  current_block_ = block;
  const OffloadedBlocks& of_stage = l_.offloaded[static_cast<std::size_t>(stage_)];
  std::erase_if(offloaded_, [&](const auto& copy) {
    const std::optional<int> due = of_stage.at(copy.first).due;
    if (!due || *due > block) return false;
    wait_for({copy.second});
    return true;
  });
}

void ForwardEmitter::offload_last() {
  if (l_.offloaded.empty() || current_block_ < 0) return;
  const OffloadedBlocks& of_stage = l_.offloaded[static_cast<std::size_t>(stage_)];
  const auto own = of_stage.find(current_block_);
  if (own == of_stage.end()) return;
  const std::uint32_t node = nodes_[done_.size() - 1];
  const Copy copy{l_.interned.device_set_of(node), StreamKind::to_host,
                  l_.program.times(l_.costs.hosts().to_host(base::Bytes(own->second.bytes))), "activations"};
  Item item{copy, node, items_of(done_.back()), {}, {}};
  if (own == std::prev(of_stage.end())) item.signals.push_back(l_.events.offloaded(stage_));
  offloaded_.emplace(current_block_, append(block_, std::move(item)));
}

void ForwardEmitter::emit_recomputation(std::span<const std::uint32_t> nodes, std::vector<std::uint32_t> after,
                                        std::vector<EventId> waits_on) {
  recompute_ = true;
  nodes_ = nodes;
  pending_.insert(pending_.end(), after.begin(), after.end());
  pending_waits_on_ = std::move(waits_on);
  for (std::uint32_t n : nodes) emit_node(n);
}

const ForwardEmitter::Done* ForwardEmitter::done_of(std::uint32_t node) const {
  // Nodes are emitted in ascending order: those that are done are the first ones.
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(nodes_, node) - nodes_.begin());
  return at < done_.size() && nodes_[at] == node ? &done_[at] : nullptr;
}

void ForwardEmitter::gather_dependencies(std::uint32_t node, Item& item) {
  for (std::size_t i = 0; i < l_.flow.origins[node].size(); ++i) {
    const std::optional<DeliveryId> delivery = l_.deliveries.of(node, i);
    if (!delivery) continue;
    const std::uint32_t producer = l_.flow.origins[node][i].node.value;
    const bool inside = l_.plan.stage[producer] == stage_;
    // Moved here already for a reader before, or made here in the layout that is wanted, or sent by another stage.
    if (inside && delivered_[l_.deliveries.place(*delivery)]) {
      item.after.push_back(*delivered_[l_.deliveries.place(*delivery)]);
    } else if (const Done* done = done_of(producer)) {
      for (std::uint32_t k = 0; k < done->count; ++k) item.after.push_back(done->first + k);
    } else if (!recompute_) {
      if (const auto event = l_.events.find_forward(*delivery)) item.waits_on.push_back(*event);
    }
  }
  item.after.insert(item.after.end(), pending_.begin(), pending_.end());
  item.waits_on.insert(item.waits_on.end(), pending_waits_on_.begin(), pending_waits_on_.end());
  make_ascending(item.waits_on);
}

namespace {
// The operators between the products of experts that have biases.
bool activates_biased_experts(const Lowering& l, std::uint32_t node) {
  if (operation_of<pcg::ExpertLinear>(l.plan, node) || operation_of<pcg::MoeDispatch>(l.plan, node)) return false;
  return std::ranges::any_of(l.flow.uses[node][0], [&](const Use& use) {
    const auto* product = operation_of<pcg::ExpertLinear>(l.plan, use.consumer);
    return product != nullptr && product->has_bias;
  });
}
}  // namespace

void ForwardEmitter::emit_node(std::uint32_t node) {
  Compute kernels{l_.interned.device_set_of(node), {l_.program.part(node, recompute_ ? "recompute" : "forward", l_.costs.forward(node))}};
  if (Compute made = work_on_gathered_weight(l_, node); !made.parts.empty())
    pending_.push_back(append(block_, {std::move(made), node, pending_, pending_waits_on_, {}}));
  Item compute;
  compute.node = node;
  gather_dependencies(node, compute);
  for (MovementId m : l_.interned.internal_forward(node).before) {
    compute.after.push_back(append(block_, moving(StreamKind::communication, m, "gather", node, compute.after, compute.waits_on)));
  }
  kernels.host_waits = l_.framework.host_waits_for_stage.of(l_.plan) && !compute.waits_on.empty();
  // A pass that is computed again knows how many tokens each expert gets.
  kernels.host_drains = (l_.framework.host_waits_for_tokens && !recompute_ && operation_of<pcg::MoeDispatch>(l_.plan, node)) ||
                        (l_.framework.host_waits_for_activations && activates_biased_experts(l_, node));
  compute.work = std::move(kernels);
  pending_.clear();
  pending_waits_on_.clear();
  done_.emplace_back();
  done_.back() = {emit_kernels(node, std::move(compute)), 1};
  Done& done = done_.back();
  for (MovementId m : l_.interned.internal_forward(node).after) {
    append(block_, moving(StreamKind::communication, m, "reduction", node, items_of(done)));
    ++done.count;
  }
  emit_moves(node, Moves::all);
}

std::uint32_t ForwardEmitter::emit_kernels(std::uint32_t node, Item compute) {
  if (l_.overlap.tensor && is_product(l_, node)) {
    if (const auto gather = gather_before(node)) return emit_overlapped(*gather, node, std::move(compute));
    if (const auto slices = slices_before_reduction(node)) return emit_before_reduction(*slices, node, compute);
  }
  if (const InternalMovementIds& inside = l_.interned.internal_forward(node); inside.hop) {
    const double share = 1 / static_cast<double>(inside.hops + 1);
    const auto of_slice = [&](std::size_t i) {
      auto kernels = std::get<Compute>(slice(compute, node, share).work);
      kernels.host_waits = kernels.host_waits && i == 0;
      return kernels;
    };
    return append_ring(block_, *inside.hop, inside.hops, compute, of_slice).back();
  }
  return append(block_, std::move(compute));
}

Item ForwardEmitter::slice(const Item& compute, std::uint32_t node, double share) {
  Item item = compute;
  Compute& kernels = std::get<Compute>(item.work);
  kernels.parts = {l_.program.part(node, recompute_ ? "recompute" : "forward", l_.costs.forward(node), share)};
  return item;
}

std::optional<ForwardEmitter::GatherBefore> ForwardEmitter::gather_before(std::uint32_t node) const {
  for (std::size_t i = 0; i < l_.flow.origins[node].size(); ++i) {
    const std::optional<DeliveryId> delivery = l_.deliveries.of(node, i);
    const pcg::TensorRef from = l_.flow.origins[node][i];
    if (!delivery || l_.plan.stage[from.node.value] != stage_) continue;
    const std::optional<std::uint32_t> item = delivered_[l_.deliveries.place(*delivery)];
    if (!item) continue;
    const auto slices = overlapped_slices(l_.interned[l_.deliveries.movement(*delivery)], CollectiveKind::all_gather);
    if (!slices) continue;
    GatherBefore gather{*item, *slices, {}};
    for (const Use& use : l_.flow.uses[from.node.value][static_cast<std::size_t>(from.output)])
      if (l_.deliveries.of(use.consumer, use.input) == delivery && std::ranges::binary_search(nodes_, use.consumer) &&
          is_product(l_, use.consumer))
        gather.readers.push_back(use.consumer);
    return gather;
  }
  return std::nullopt;
}

std::uint32_t ForwardEmitter::emit_overlapped(const GatherBefore& gather, std::uint32_t node, Item compute) {
  const double share = share_after_gather(l_, node, gather.readers, gather.slices);
  if (share >= 1) return append(block_, std::move(compute));
  Item first = slice(compute, node, 1 - share);
  start_with(block_, gather.item, first);
  const std::uint32_t at = append(block_, std::move(first));
  if (share <= 0) return at;
  Item last = slice(compute, node, share);
  std::get<Compute>(last.work).host_waits = false;
  return append(block_, std::move(last));
}

std::optional<std::size_t> ForwardEmitter::slices_before_reduction(std::uint32_t node) const {
  for (const std::vector<Use>& uses : l_.flow.uses[node])
    for (const Use& use : uses) {
      if (!std::ranges::binary_search(nodes_, use.consumer)) continue;
      const MovementId m = l_.deliveries.movement(*l_.deliveries.of(use.consumer, use.input));
      if (const auto slices = overlapped_slices(l_.interned[m], CollectiveKind::reduce_scatter)) return slices;
    }
  return std::nullopt;
}

// Later items of the compute stream wait for the last slice by the order of the stream.
std::uint32_t ForwardEmitter::emit_before_reduction(std::size_t slices, std::uint32_t node, const Item& compute) {
  const double share = 1 / static_cast<double>(slices);
  Item first = slice(compute, node, share);
  std::get<Compute>(first.work).ends_run = true;
  done_.back() = {append(block_, std::move(first)), 1};
  emit_moves(node, Moves::reductions);
  Item last = slice(compute, node, 1 - share);
  std::get<Compute>(last.work).host_waits = false;
  return append(block_, std::move(last));
}

void ForwardEmitter::emit_moves(std::uint32_t node, Moves which) {
  for (const std::vector<Use>& uses : l_.flow.uses[node]) {
    for (const Use& use : uses) {
      const int stage = l_.plan.stage[use.consumer];
      const bool inside = stage == stage_ && (!recompute_ || std::ranges::binary_search(nodes_, use.consumer));
      if (!inside && recompute_) continue;
      const DeliveryId delivery = *l_.deliveries.of(use.consumer, use.input);
      const std::size_t place = l_.deliveries.place(delivery);
      // Readers of one layout share what is moved. Stages of one rank may lie on the same devices: what this stage has moved is there for
      // them.
      if (delivered_[place] || (!inside && left_[place])) continue;
      const MovementId m = l_.deliveries.movement(delivery);
      if (l_.interned[m].empty()) continue;
      if (which == Moves::reductions && !(inside && overlapped_slices(l_.interned[m], CollectiveKind::reduce_scatter))) continue;
      Item move = inside ? moving(stream_between(l_, node, use.consumer, m), m, "tensor", node, items_of(done_.back()))
                         : moving(StreamKind::pipeline, m, "stage boundary", node, items_of(done_.back()));
      if (!inside) move.signals.push_back(l_.events.forward(delivery, stage_));
      const std::uint32_t at = append(block_, std::move(move));
      if (inside) delivered_[place] = at;
      else left_[place] = true;
    }
  }
}

namespace {
// The host's work for a micro-batch beyond launching.
void add_host_work(const Lowering& l, int stage, Block& block) {
  const auto reads_batch = [&](std::uint32_t n) {
    return std::ranges::any_of(l.flow.origins[n], [&](pcg::TensorRef from) { return l.plan.pcg.node(from.node).is_input(); });
  };
  if (l.framework.host_waits_for_batch && std::ranges::any_of(l.flow.stage_nodes[static_cast<std::size_t>(stage)], reads_batch)) {
    const auto first = std::ranges::find_if(block.items, [](const Item& i) { return std::holds_alternative<Compute>(i.work); });
    if (first != block.items.end()) std::get<Compute>(first->work).host_drains = true;
  }
  // It does so before the first kernels.
  l.program.add_host_time(block, 0, l.framework.host.micro_batch);
  add_host_time_of_units(l, block);
}
}  // namespace

Block lower_forward(const Lowering& l, int stage, bool gathers_updated) {
  const std::span<const std::uint32_t> nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  Block block;
  block.items.reserve(2 * nodes.size());  // a node's kernels, and often something that moves
  ForwardEmitter emitter(l, block, stage);
  if (gathers_updated) emitter.emit(nodes, UpdatedWeights(l, block, stage));
  else emitter.emit(nodes, WeightGathers(l, block, nodes));
  add_host_work(l, stage, block);
  return block;
}

}  // namespace sim
