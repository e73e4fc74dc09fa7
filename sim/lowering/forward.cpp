#include "sim/lowering/forward.hpp"

#include <algorithm>

#include "sim/lowering/events.hpp"
#include "sim/lowering/sharded_weights.hpp"

namespace sim {

void ForwardEmitter::emit(std::span<const std::uint32_t> nodes) {
  nodes_ = nodes;
  WeightGathers gathers(l_, block_, nodes);
  for (std::uint32_t n : nodes) {
    wait_for(gathers.before(n));
    emit_node(n);
  }
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
  std::sort(item.waits_on.begin(), item.waits_on.end());
  item.waits_on.erase(std::unique(item.waits_on.begin(), item.waits_on.end()), item.waits_on.end());
}

void ForwardEmitter::emit_node(std::uint32_t node) {
  Compute kernels{l_.interned.device_set_of(node), {l_.program.part(node, recompute_ ? "recompute" : "forward", l_.prices.forward(node))}};
  Item compute;
  compute.node = node;
  gather_dependencies(node, compute);
  for (MovementId m : l_.interned.internal_forward(node).before) {
    compute.after.push_back(append(block_, moving(StreamKind::communication, m, "gather", node, compute.after, compute.waits_on)));
  }
  kernels.host_waits = l_.framework.host_waits_for_stage.of(l_.plan) && !compute.waits_on.empty();
  compute.work = std::move(kernels);
  pending_.clear();
  pending_waits_on_.clear();
  Done& done = done_.emplace_back(append(block_, std::move(compute)), 1);
  for (MovementId m : l_.interned.internal_forward(node).after) {
    append(block_, moving(StreamKind::communication, m, "reduction", node, items_of(done)));
    ++done.count;
  }
  emit_moves(node);
}

void ForwardEmitter::emit_moves(std::uint32_t node) {
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
      Item move = inside ? moving(StreamKind::communication, m, "tensor", node, items_of(done_.back()))
                         : moving(StreamKind::pipeline, m, "stage boundary", node, items_of(done_.back()));
      if (!inside) move.signals.push_back(l_.events.forward(delivery, stage_));
      const std::uint32_t at = append(block_, std::move(move));
      if (inside) delivered_[place] = at;
      else left_[place] = true;
    }
  }
}

namespace {
bool reads_batch(const Lowering& l, std::uint32_t node) {
  return std::ranges::any_of(l.flow.origins[node], [&](pcg::TensorRef from) { return l.plan.pcg.node(from.node).is_input(); });
}
}  // namespace

Block lower_forward(const Lowering& l, int stage) {
  const std::span<const std::uint32_t> nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  Block block;
  block.items.reserve(2 * nodes.size());  // a node's kernels, and often something that moves
  ForwardEmitter emitter(l, block, stage);
  emitter.emit(nodes);
  if (l.framework.host_waits_for_batch && std::ranges::any_of(nodes, [&](std::uint32_t n) { return reads_batch(l, n); })) {
    const auto first = std::ranges::find_if(block.items, [](const Item& i) { return std::holds_alternative<Compute>(i.work); });
    if (first != block.items.end()) std::get<Compute>(first->work).host_drains = true;
  }
  // What the host does for a micro-batch besides launching, it does before the first kernels.
  l.program.add_host_time(block, 0, l.framework.host.micro_batch);
  return block;
}

}  // namespace sim
