#pragma once
// Emits the forward items of a set of nodes of one virtual stage into a block: used for the forward pass, and again in the backward pass
// for blocks that are recomputed. Internal to sim/lowering.

#include <map>
#include <span>

#include "sim/lowering/lowering.hpp"

namespace sim {

class ForwardEmitter {
 public:
  ForwardEmitter(const Lowering& l, Block& block, int stage) : l_(l), block_(block), stage_(stage) {}

  // Nodes ascending. recompute: nothing leaves the set of nodes, what comes from outside it is at hand, the first item waits for
  // `after` and `waits_on`, every part is labelled as recomputation.
  void emit(std::span<const std::uint32_t> nodes);
  void emit_recomputation(std::span<const std::uint32_t> nodes, std::vector<std::uint32_t> after, std::vector<EventId> waits_on);

  // ZeRO-3: the next compute item waits for these items (weights being gathered).
  void wait_for(std::vector<std::uint32_t> items) { pending_.insert(pending_.end(), items.begin(), items.end()); }

 private:
  void emit_node(std::uint32_t node);
  void emit_moves(std::uint32_t node);
  void gather_dependencies(std::uint32_t node, Item& item);

  using Delivery = std::pair<pcg::TensorRef, LayoutId>;  // a tensor in a layout
  const Lowering& l_;
  Block& block_;
  int stage_;
  bool recompute_ = false;
  std::span<const std::uint32_t> nodes_;
  std::map<Delivery, std::uint32_t> delivered_;               // by an item of this block
  std::map<std::uint32_t, std::vector<std::uint32_t>> done_;  // node -> items after which its outputs are there
  std::vector<std::uint32_t> pending_;
  std::vector<EventId> pending_waits_on_;
};

}  // namespace sim
