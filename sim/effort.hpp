#pragma once
// What steps of a search cost, in seconds of one core: a fixed part, and a part for each operator of a plan on each of its GPUs. Rounded
// from CPU times of each kind of step in `megatron: search` for Llama 3 8B and 70B and gpt-oss-120b on 16 to 1,024 H100, on one shared
// machine of two cores; of movements in `intra-op` for Llama 3 70B on 128. They only decide where a search ends, never what a plan takes.

#include "base/units.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {

struct StepCost {
  double fixed_s, per_point_s;
  // `operators` of a plan or a model.
  [[nodiscard]] base::Seconds of(std::size_t operators, int gpus) const {
    return base::Seconds(fixed_s + per_point_s * static_cast<double>(operators) * gpus);
  }
  [[nodiscard]] base::Seconds of(const pcg::Plan& p) const { return of(p.pcg.nodes().size(), p.gpus); }
};

inline constexpr StepCost kBuildPlan{0.8e-3, 4e-9};
inline constexpr StepCost kFollowData{0.1e-3, 2e-9};  // dataflow_of()
inline constexpr StepCost kEstimatePlan{0.4e-3, 7e-9};
inline constexpr StepCost kCountMemory{1.3e-3, 5.5e-9};
inline constexpr StepCost kSimulatePlan{15e-3, 60e-9};
inline constexpr base::Seconds kPipelineSlot(60e-9);  // a pass of a micro-batch in a schedule that is gone through
// A collective that was not met before, and each flow of its algorithms.
inline constexpr base::Seconds kCollectivePattern(1e-3), kCollectiveFlow(4e-6);
// A message or a collective of a movement from one layout to another.
inline constexpr base::Seconds kReshardTransfer(0.5e-6);

// A change of a random walk over a simulated schedule, for each operator on each GPU. Of solvers: an entry of a table of pairs of choices
// that is gone through, an entry of a bucket tree, two labels of fronts that are put together.
inline constexpr base::Seconds kWalkStep(50e-9), kPairEntry(1.5e-9), kBucketEntry(30e-9), kFrontPair(20e-9);

// A question for the time that is left: loops of solvers ask it once a round.
inline constexpr base::Seconds kPoll(20e-6);

}  // namespace sim
