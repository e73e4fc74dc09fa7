#pragma once
// The time of a plan without simulating it: the program that the simulator would run, with every item at the time that it takes alone.
// Good for ranking. Devices of one type go in lockstep, and the slowest type sets the pace; what runs at the same time does not share
// links, but for the transfers of one round; a stage waits for all that comes from other stages before it starts a micro-batch.

#include <vector>

#include "sim/lowering/lower.hpp"
#include "sim/oracle.hpp"

namespace search {

// Estimates a plan and its variants that differ in recomputation and ZeRO stage alone. Not for several threads at once.
class Estimator {
 public:
  // Plan and oracle outlive the object.
  // Requires: pcg::violations(plan) is empty.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(nodes x points).
  Estimator(const pcg::Plan& plan, const sim::Oracle& oracle);

  // Returns: the iteration time, as the plan's framework runs it.
  // Requires: `variant` is the plan but for `recompute`, `zero` and `summary`.
  // Cost: O(nodes + stages x micro-batches); the oracle and this object remember what movements and kernels take.
  [[nodiscard]] base::Seconds time(const pcg::Plan& variant);

  // Returns: weights, gradients and optimizer state of the device that holds most, a lower bound of what the variant needs.
  [[nodiscard]] base::Bytes model_states(const pcg::Plan& variant) const;

 private:
  const sim::Oracle& oracle_;
  sim::Dataflow data_;
  sim::Lowerer lowerer_;
  std::vector<std::vector<double>> movement_s_;  // per movement that the lowerer has numbered, and round
};

// Of one plan alone.
[[nodiscard]] base::Seconds estimate(const pcg::Plan& plan, const sim::Oracle& oracle);

}  // namespace search
