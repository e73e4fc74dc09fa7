#include "sim/lowering/forward.hpp"

#include <algorithm>
#include <set>

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

void ForwardEmitter::gather_dependencies(std::uint32_t node, Item& item) {
  for (std::size_t i = 0; i < l_.flow.origins[node].size(); ++i) {
    const pcg::TensorRef from = l_.flow.origins[node][i];
    const LayoutId layout = l_.interned.layouts_of(node).inputs[i];
    if (const auto it = delivered_.find({from, layout}); it != delivered_.end()) {
      item.after.push_back(it->second);
    } else if (const auto d = done_.find(from.node.value); d != done_.end()) {
      item.after.insert(item.after.end(), d->second.begin(), d->second.end());
    } else if (!recompute_) {
      if (const auto b = l_.events.find_forward(from, layout)) item.waits_on.push_back(*b);
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
  kernels.host_waits = l_.framework.host_waits_for_stage && !compute.waits_on.empty();
  compute.work = std::move(kernels);
  pending_.clear();
  pending_waits_on_.clear();
  std::vector<std::uint32_t>& done = done_[node];
  done = {append(block_, std::move(compute))};
  for (MovementId m : l_.interned.internal_forward(node).after) {
    done.push_back(append(block_, moving(StreamKind::communication, m, "reduction", node, done)));
  }
  emit_moves(node);
}

void ForwardEmitter::emit_moves(std::uint32_t node) {
  const pcg::Pcg& pcg = l_.plan.pcg;
  std::set<Delivery> left;  // for other stages
  for (std::size_t j = 0; j < l_.flow.uses[node].size(); ++j) {
    const pcg::TensorRef tensor{pcg::NodeId(node), static_cast<int>(j)};
    const LayoutId from = l_.interned.layouts_of(node).outputs[j];
    for (const Use& use : l_.flow.uses[node][j]) {
      const int stage = l_.plan.stage[use.consumer];
      const bool inside = stage == stage_ && (!recompute_ || std::ranges::binary_search(nodes_, use.consumer));
      if (!inside && recompute_) continue;
      const LayoutId to = l_.interned.layouts_of(use.consumer).inputs[use.input];
      if (delivered_.contains({tensor, to}) || (!inside && left.contains({tensor, to}))) continue;
      const MovementId m = l_.interned.movement(from, to, pcg.shape(tensor).element);
      if (l_.interned[m].empty()) continue;
      Item move = inside ? moving(StreamKind::communication, m, "tensor", node, done_.at(node))
                         : moving(StreamKind::pipeline, m, "stage boundary", node, done_.at(node));
      if (!inside) move.signals.push_back(l_.events.forward(tensor, to, stage_));
      const std::uint32_t at = append(block_, std::move(move));
      if (inside) delivered_.emplace(Delivery{tensor, to}, at);
      else left.insert({tensor, to});
    }
  }
}

namespace {
bool reads_batch(const Lowering& l, std::uint32_t node) {
  return std::ranges::any_of(l.flow.origins[node], [&](pcg::TensorRef from) { return l.plan.pcg.node(from.node).is_input(); });
}
}  // namespace

Block lower_forward(const Lowering& l, int stage) {
  Block block;
  ForwardEmitter emitter(l, block, stage);
  const std::span<const std::uint32_t> nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  emitter.emit(nodes);
  if (l.framework.host_waits_for_batch && std::ranges::any_of(nodes, [&](std::uint32_t n) { return reads_batch(l, n); })) {
    const auto first = std::ranges::find_if(block.items, [](const Item& i) { return std::holds_alternative<Compute>(i.work); });
    if (first != block.items.end()) std::get<Compute>(first->work).host_drains = true;
  }
  l.program.add_host_time(block, 0, l.framework.host.micro_batch);
  return block;
}

}  // namespace sim
