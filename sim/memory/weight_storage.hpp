#pragma once
// Bytes of stored weights, weight by weight: what low precision keeps of those that are operands of products inside layers
// (pcg::WeightStorage). Embeddings, the head, routers, norms and biases stay as they are, and so do the optimizer's fp32 copies of all.

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"

namespace sim {

// Per parameter.
struct WeightBytes {
  double kept = 0, gathered = 0;  // by a device that holds it; over the network, where shards are gathered
};

// Of the weight that input `input` of `node` reads.
[[nodiscard]] WeightBytes weight_bytes_of(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, std::uint32_t node,
                                          std::uint32_t input);

}  // namespace sim
