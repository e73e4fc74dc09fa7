#pragma once
// Plan -> Program: every operator's shards on their devices, forward and backward, what must move between them, recomputation,
// gradient synchronisation and the update, for one micro-batch of each virtual stage. Start here:
//   lower.hpp           lower(): one plan; Lowerer: its variants
//   passes.hpp          lower_forward(), lower_backward(), lower_update(): a Block each (forward.cpp, backward.cpp, update.cpp)
//   lowering.hpp        Lowering: what these share; ProgramBuilder: numbers and costs; Events: who waits for whom
//   weight_traffic.hpp  WeightGathers, GradientBuckets; kernel_slices.hpp: products in slices, for overlap

#include <map>
#include <tuple>

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/lowering.hpp"

namespace sim {

// Lowers variants of a plan. Costs, layouts, movements and blocks are found once: a block that two variants have in common has the same
// number in both programs. Not for several threads at once.
class Lowerer {
 public:
  // `data` is dataflow_of(plan). All four outlive the object.
  // Requires: pcg::violations(plan) is empty.
  // Throws: base::InputError when a device has no profile or does not support the precision.
  Lowerer(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework);
  Lowerer(const Lowerer&) = delete;
  Lowerer& operator=(const Lowerer&) = delete;

  // Returns: the variant's program; valid until the next call.
  // Cost: O(stages), and for what no variant before had: O(nodes) for a block (times the graph's blocks under full recomputation and ZeRO
  // 3), O(points) for a node, reshard() for a movement.
  [[nodiscard]] const Program& lower(const Variant& variant) &;
  [[nodiscard]] Program lower(const Variant& variant) &&;

 private:
  struct Backward {
    BlockId block, weights;  // the latter where the pass is split
    std::vector<EventId> synchronised;
  };
  [[nodiscard]] Lowering with(const Variant& v) {
    profiles::Overlaps overlap = profiles::overlaps_of(framework_, plan_.overlap);
    overlap.experts = pcg::merges_passes(plan_);
    return {plan_,    v,       data_.flow, data_.synchronisation, framework_, cluster_, overlap, costs_, interned_, deliveries_, gradients_,
            program_, events_, offloaded_};
  }
  // gathers_updated: of lower_forward().
  BlockId forward(int stage, const Variant& v, bool gathers_updated);
  const Backward& backward(int stage, MicroBatchPosition position, const Variant& v, bool split);
  // Adds the backward blocks of a position, split or whole, and what they synchronise.
  void add_backward(PassBlocks& blocks, MicroBatchPosition position, const Variant& v, bool split);
  BlockId update(const Variant& v, const std::vector<EventId>& synchronised);

  const pcg::Plan& plan_;
  const Dataflow& data_;
  const topology::Cluster& cluster_;
  const profiles::FrameworkProfile& framework_;
  CostTable costs_;
  Interning interned_;
  Deliveries deliveries_;
  GradientSums gradients_;
  ProgramBuilder program_;
  Events events_;
  std::vector<OffloadedBlocks> offloaded_;  // Lowering::offloaded
  // Blocks by what they depend on.
  std::map<std::tuple<int, bool, bool>, BlockId> forward_;  // stage, whether weights are gathered, and whether they are updated ones
  std::map<std::tuple<int, MicroBatchPosition, pcg::Recompute, int, bool>, Backward> backward_;  // ZeRO stage as far as it matters; split
  std::map<std::pair<int, std::vector<EventId>>, BlockId> update_;                               // ZeRO stage, what it waits for
};

// Returns the program of one plan alone.
[[nodiscard]] Program lower(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster,
                            const profiles::FrameworkProfile& framework);

}  // namespace sim
