#pragma once
// Emits the forward items of a set of nodes of one virtual stage into a block: used for the forward pass, and again in the backward pass
// for blocks that are recomputed. Internal to sim/lowering.

#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sim/lowering/lowering.hpp"
#include "sim/lowering/weight_traffic.hpp"

namespace sim {

class ForwardEmitter {
 public:
  ForwardEmitter(const Lowering& l, Block& block, int stage)
      : l_(l), block_(block), stage_(stage), delivered_(l.deliveries.made_by(stage)), left_(l.deliveries.made_by(stage)) {}

  // Nodes ascending. Kernels wait for the weights that are gathered for them (WeightGathers or UpdatedWeights).
  template <class Weights>
  void emit(std::span<const std::uint32_t> nodes, Weights weights);
  // Nothing leaves the set of nodes, what comes from outside it is there, the first item waits for `after` and `waits_on`, every part is
  // labelled as recomputation.
  void emit_recomputation(std::span<const std::uint32_t> nodes, std::vector<std::uint32_t> after, std::vector<EventId> waits_on);

  // The next compute item waits for these items (weights being gathered).
  void wait_for(std::vector<std::uint32_t> items) { pending_.insert(pending_.end(), items.begin(), items.end()); }

 private:
  void emit_node(std::uint32_t node);
  // Copies what the block before keeps to the hosts when its kernels have run; a block waits for the copies that are due before it.
  void offload_before(std::uint32_t node);
  void offload_last();
  enum class Moves { reductions, all };  // reductions: those that overlap with the product that makes what they add up
  void emit_moves(std::uint32_t node, Moves which);

  // The kernels of a node, in slices that overlap a collective (kernel_slices.hpp). Returns: the last item.
  std::uint32_t emit_kernels(std::uint32_t node, Item compute);
  // An all-gather of this block that makes what a product reads, and all products that read it, ascending.
  struct GatherBefore {
    std::uint32_t item = 0;
    std::size_t slices = 1;
    std::vector<std::uint32_t> readers;
  };
  [[nodiscard]] std::optional<GatherBefore> gather_before(std::uint32_t node) const;
  std::uint32_t emit_overlapped(const GatherBefore& gather, std::uint32_t node, Item compute);
  [[nodiscard]] std::optional<std::size_t> slices_before_reduction(std::uint32_t node) const;
  std::uint32_t emit_before_reduction(std::size_t slices, std::uint32_t node, const Item& compute);
  [[nodiscard]] Item slice(const Item& compute, std::uint32_t node, double share);
  void gather_dependencies(std::uint32_t node, Item& item);

  // The items after which the outputs of a node are there: its kernels, and reductions right after them.
  struct Done {
    std::uint32_t first = 0, count = 0;
  };
  // Returns the items of a node among `nodes_`; nullptr: it is not one of them, or comes later.
  [[nodiscard]] const Done* done_of(std::uint32_t node) const;
  [[nodiscard]] static std::vector<std::uint32_t> items_of(const Done& done) {
    std::vector<std::uint32_t> items(done.count);
    std::iota(items.begin(), items.end(), done.first);
    return items;
  }
  const Lowering& l_;
  Block& block_;
  int stage_;
  bool recompute_ = false;
  std::span<const std::uint32_t> nodes_;
  std::vector<std::optional<std::uint32_t>> delivered_;  // by place of the delivery: the item of this block that makes it
  std::vector<bool> left_;                               // by place of the delivery: it was made for other stages
  std::vector<Done> done_;                               // for the first nodes of `nodes_`
  int current_block_ = -1;
  std::map<int, std::uint32_t> offloaded_;  // by block: the copies that no block has waited for yet
  std::vector<std::uint32_t> pending_;
  std::vector<EventId> pending_waits_on_;
};

// One virtual stage's forward pass. gathers_updated: the first micro-batch's, which gathers updated weights (UpdatedWeights).
// Requires: those of lower stages were lowered before.
[[nodiscard]] Block lower_forward(const Lowering& l, int stage, bool gathers_updated);

// The backward pass of one virtual stage, and the events by which it says that gradients are synchronised: the update waits for all of
// them.
struct BackwardBlock {
  Block block;
  Block weights;  // the gradients of weights, where these have a pass of their own
  std::vector<EventId> synchronised;
};

// split: in two passes.
// Requires: all forward passes, and the backward passes of higher stages, were lowered before.
[[nodiscard]] BackwardBlock lower_backward(const Lowering& l, int stage, MicroBatchPosition position, bool split);

// The end of an iteration, for all stages.
// Requires: all passes were lowered before; `synchronised`: what their backward passes give.
[[nodiscard]] Block lower_update(const Lowering& l, const std::vector<EventId>& synchronised);

}  // namespace sim
