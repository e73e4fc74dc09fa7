#pragma once
// Plan -> Program: every operator's shards on their devices, forward and backward, what must move between them, recomputation,
// gradient synchronisation and the update, for one micro-batch of each virtual stage.

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/interning.hpp"
#include "sim/pricing/price_list.hpp"
#include "sim/program/program.hpp"

namespace sim {

// Lowers a plan and its variants that differ in recomputation and ZeRO stage alone: prices, layouts and movements are found once.
// Numbers of movements and device sets go on from one program to the next: a movement has the same number in all of them.
class Lowerer {
 public:
  // `data` is dataflow_of(plan). All four outlive the object.
  // Requires: pcg::violations(plan) is empty.
  // Throws: base::InputError when a device does not support the precision.
  Lowerer(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework);

  // Requires: `variant` is the plan but for `recompute`, `zero` and `summary`.
  // Cost: O(nodes), and for what no variant before had: O(points) for a node, O(shards) for a movement.
  [[nodiscard]] Program lower(const pcg::Plan& variant);

 private:
  const Dataflow& data_;
  const profiles::FrameworkProfile& framework_;
  PriceList prices_;
  Interning interned_;
};

// Of one plan alone.
[[nodiscard]] Program lower(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster,
                            const profiles::FrameworkProfile& framework);

}  // namespace sim
