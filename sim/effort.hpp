#pragma once
// What steps of a search cost, in seconds of one core: a part for each operator of a plan, and one for each of its GPUs besides. Rounded
// from CPU times of each step for three plans (tensor 8; tensor 2 x pipeline 4; ZeRO 3) of BERT-Large, Llama 3 8B and 70B and gpt-oss-120b
// on 8, 32, 128 and 512 H100, on one shared machine of two cores; of movements and strategies in `unity` for Inception-v3 on 192 V100 and
// Llama 3 8B on 1,024 H100, and in `intra-op` on 128; of solvers in `alpa`, `unity` and `uniap` for GPT-3 6.7B, Wide-ResNet 4B, Qwen3 30B
// and Llama 3 70B on 16 and 64 GPUs. They only decide where a search ends, never what a plan takes.

#include "base/units.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {

struct StepCost {
  double per_operator_s, per_point_s;
  // `operators` of a plan or a model.
  [[nodiscard]] base::Seconds of(std::size_t operators, int gpus) const {
    return base::Seconds(static_cast<double>(operators) * (per_operator_s + per_point_s * gpus));
  }
  [[nodiscard]] base::Seconds of(const pcg::Plan& p) const { return of(p.pcg.nodes().size(), p.gpus); }
};

inline constexpr StepCost kBuildPlan{1.2e-6, 1.5e-9};
inline constexpr StepCost kFollowData{0.3e-6, 5e-9};  // dataflow_of(), and what an estimator makes of it
inline constexpr StepCost kEstimatePlan{3e-6, 2e-9};
inline constexpr StepCost kCountMemory{1.1e-6, 5.5e-9};
inline constexpr StepCost kSimulatePlan{4e-6, 55e-9};  // without its activities
inline constexpr base::Seconds kActivity(0.6e-6);
inline constexpr base::Seconds kPipelineSlot(60e-9);  // a pass of a micro-batch in a schedule that is gone through
// A collective that was not met before, and each flow of its algorithms; a flow where the oracle simulates none (0.7 to 2.3 us measured).
inline constexpr base::Seconds kCollectivePattern(1e-3), kCollectiveFlow(4e-6), kBoundedFlow(2e-6);
// A message or a collective of a movement from one layout to another.
inline constexpr base::Seconds kReshardTransfer(1.5e-6);
// A strategy in the table of an operator, without its collectives.
inline constexpr StepCost kCostStrategy{10e-6, 0.6e-6};

// A change of a random walk over a simulated schedule, for each operator on each GPU.
inline constexpr base::Seconds kWalkStep(50e-9);
// Of solvers: an entry of a bucket tree each time it is gone through, two labels of fronts that are put together, a label that a run of
// layers gets; a stage that is costed, and one that is tried in a dynamic program.
inline constexpr base::Seconds kBucketEntry(3.5e-9), kFrontPair(20e-9), kFrontLabel(13e-9), kStageCost(50e-9), kStageTried(1.5e-9);

// A question for the time that is left: loops of solvers ask it once a round.
inline constexpr base::Seconds kPoll(20e-6);

}  // namespace sim
