#pragma once
// The time of a plan as a sum of what the oracle says about its kernels and collectives, without simulating it: good for ranking, blind
// to contention and to what overlaps. Cost: one pass over the PCG; the oracle remembers collectives.

#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"

namespace search {

// Of one micro-batch on one device of a virtual stage, collectives included; gradients and update are once per iteration.
struct StageCost {
  base::Seconds forward, backward;
  base::Seconds attention;  // the part of forward that selective recomputation repeats
  base::Seconds gradients;  // their all-reduce, none of it overlapped
  base::Seconds update;     // the optimizer on all weights of the device
  double parameters = 0;    // of the device
  int replicas = 1;         // that share the update from ZeRO 1 on
};
// One per virtual stage. Requires: violations(plan) is empty. Independent of plan.recompute and plan.zero.
[[nodiscard]] std::vector<StageCost> stage_costs(const pcg::Plan& plan, const sim::Oracle& oracle);

// (micro-batches + (stages - 1) / chunks) x the slowest group's micro-batch + the slowest group's gradients and update
// (arXiv 2104.04473, section 2.2), with the repeated work of plan.recompute and the shares of plan.zero.
[[nodiscard]] base::Seconds estimate(const std::vector<StageCost>& costs, const pcg::Plan& plan);

// Weights, gradients and optimizer state of the device that holds most: a lower bound of what the plan needs.
[[nodiscard]] base::Bytes model_states(const std::vector<StageCost>& costs, const pcg::Plan& plan);

}  // namespace search
