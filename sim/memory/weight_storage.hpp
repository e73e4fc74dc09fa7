#pragma once
// Bytes of stored weights, weight by weight: what low precision keeps of those that are operands of products inside layers
// (pcg::WeightStorage). Embeddings, the head, routers, norms and biases stay as they are, and so do the optimizer's fp32 copies of all.
// Weights that are kept in bf16 have copies beside them, cast once an iteration, which every micro-batch multiplies (Transformer Engine
// keeps them between micro-batches, is_first_microbatch).

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Per parameter.
struct WeightBytes {
  double kept = 0, gathered = 0;  // by a device that holds it; over the network, where shards are gathered
  double copied = 0;              // beside what is kept, whole on every device that multiplies it
};

// Whether products need transposed copies of what they read in fp8, on some device of the plan.
[[nodiscard]] bool copies_columns(const pcg::Plan& plan, const topology::Cluster& cluster);

// Of the weight that input `input` of `node` reads.
[[nodiscard]] WeightBytes weight_bytes_of(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, std::uint32_t node,
                                          std::uint32_t input, bool copies_columns = false);

}  // namespace sim
