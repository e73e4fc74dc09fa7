#pragma once
// How a plan saves memory. Plans that differ in nothing else share their graph, their layouts, their costs and most of their program.

#include "pcg/plan/plan.hpp"

namespace sim {

struct Variant {
  pcg::Recompute recompute = pcg::Recompute::none;
  int zero = 0;  // pcg::Plan::zero
  bool operator==(const Variant&) const = default;
};

// Whether weights are updated in shards that have to be gathered before the next forward pass. ZeRO-3 gathers them anyway.
[[nodiscard]] inline bool gathers_updated_weights(const Variant& v) { return v.zero == 1 || v.zero == 2; }

[[nodiscard]] inline Variant variant_of(const pcg::Plan& plan) { return {plan.recompute, plan.zero}; }

}  // namespace sim
