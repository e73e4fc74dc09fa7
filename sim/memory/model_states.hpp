#pragma once
// Bytes that parameters occupy: weight, gradient, optimizer state. Mixed-precision Adam is 2 + 2 + 12 per parameter (Rajbhandari et al.,
// ZeRO, SC'20, section 3.1: fp32 master weight, momentum and variance); fp32 Adam 4 + 4 + 8. A framework that keeps gradients in fp32 makes
// it 2 + 4 + 12, one that copies half-precision gradients to fp32 for the optimizer 2 + 2 + 16 (Megatron-LM, docs of the distributed
// optimizer: 18 bytes with bf16 parameters and fp32 gradients, 20 with fp16 ones). That copy is there only while the optimizer runs: the
// next iteration's zero_grad drops it before the first forward pass (Megatron-LM, megatron/core/optimizer/distrib_optimizer.py).

#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "topology/cluster.hpp"

namespace sim {

struct ModelStateBytes {
  double weight = 4, gradient = 4, optimizer = 0;  // bytes per parameter, unsharded
  double update = 0;                               // the part of `optimizer` that is there only while it runs
  double half_gradient = 0;                        // beside `gradient`, where gradients are not sharded (MemoryBehaviour::half_gradients)
  [[nodiscard]] double between_updates() const { return optimizer - update; }
};

[[nodiscard]] ModelStateBytes model_state_bytes(const pcg::TrainingConfig& t, const profiles::FrameworkProfile& framework);
// The same with the plan's own moments, of what this optimizer updates. The other: of what the plan's does.
[[nodiscard]] ModelStateBytes model_state_bytes(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by);
[[nodiscard]] ModelStateBytes model_state_bytes(const pcg::Plan& plan, const profiles::FrameworkProfile& framework);

// Returns the optimizer of the weight of input `input` of a node: the plan's optimizer, but Adam beside Muon, which takes the matrices
// of linear layers and experts, and neither embedding nor head.
[[nodiscard]] pcg::Optimizer optimizer_of(const pcg::Plan& plan, std::uint32_t node, std::uint32_t input);

// The bytes of one device.
struct StateBytes {
  base::Bytes weights, gradients, optimizer;
  base::Bytes update;          // more of the optimizer while it runs
  base::Bytes lazy_gradients;  // of the gradients, what is not there before the backward pass makes it
  base::Bytes copies;          // of weights, in low precision (WeightBytes::copied), but of those that are gathered for each pass
  [[nodiscard]] base::Bytes total() const { return weights + gradients + optimizer + copies; }  // between updates
};

// What a device keeps of a weight of which it holds `parameters`, if a stage of ZeRO leaves `share` of what it shares out to each.
[[nodiscard]] StateBytes states_of(int zero, const pcg::ZeroPolicy& policy, const ModelStateBytes& each, double parameters, double share);

// One per device up to the last that holds a weight, numbered as the cluster's: every weight once per stage that reads it, less what ZeRO
// stage `zero` shares out among those that hold copies, of the blocks that the plan names. `data` is dataflow_of(plan); `copies_columns` as
// as below.
// Cost: O(weights x shards).
[[nodiscard]] std::vector<StateBytes> model_states(const pcg::Plan& plan, const Dataflow& data, const profiles::FrameworkProfile& framework,
                                                   int zero, bool copies_columns = false);

// Bytes of stored weights, weight by weight: what low precision keeps of those that are operands of products inside layers
// (pcg::WeightStorage). Embeddings, the head, routers, norms and biases stay as they are, and so do the optimizer's fp32 copies of all.
// Weights that are kept in bf16 have copies beside them, cast once an iteration, which every micro-batch multiplies (Transformer Engine
// keeps them between micro-batches, is_first_microbatch).
// Per parameter.
struct WeightBytes {
  double kept = 0, gathered = 0;  // by a device that holds it; over the network, where shards are gathered
  double copied = 0;              // beside what is kept, whole on every device that multiplies it
};

// Whether products need transposed copies of what they read in fp8, on some device of the plan.
[[nodiscard]] bool copies_columns(const pcg::Plan& plan, const topology::Cluster& cluster);

// Returns the bytes of the weight that input `input` of `node` reads.
[[nodiscard]] WeightBytes weight_bytes_of(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, std::uint32_t node,
                                          std::uint32_t input, bool copies_columns = false);

}  // namespace sim
