#pragma once
// What a framework does around a plan: how gradients are bucketed, and what is overlapped. Each figure is the framework's own default.

#include "base/units.hpp"
#include "pcg/plan.hpp"

namespace sim {

struct FrameworkBehaviour {
  base::Bytes gradient_bucket;         // gradients are synchronised when this much is ready
  bool overlap_gradients = true;       // beside the backward pass; else after it
  bool overlap_input_gradient = true;  // the collective of an input gradient runs beside the weight-gradient kernels
};

[[nodiscard]] FrameworkBehaviour behaviour_of(pcg::Framework f);

}  // namespace sim
