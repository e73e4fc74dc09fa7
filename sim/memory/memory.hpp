#pragma once
// Memory of a plan, device by device, from the schedule alone: model states, activations saved for backward, temporaries of
// recomputation and gathered weights. No simulation is needed: what is alive depends on order, not on time.

#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Bytes of a device for a block of the graph (a layer, mostly), in one micro-batch of a virtual stage.
struct BlockMemory {
  int block = 0;
  base::Bytes saved;      // from its forward to its backward pass
  base::Bytes temporary;  // while its backward pass runs
  base::Bytes gradients;  // of the lazily allocated ones, what its backward pass makes
  auto operator<=>(const BlockMemory&) const = default;
};

// Bytes of one device; per virtual stage where it says so.
struct DeviceMemory {
  base::Bytes weights, gradients, optimizer;
  base::Bytes lazy_gradients;      // of the gradients, what is not there before the backward pass makes it
  base::Bytes update;              // more of the optimizer while it runs, when no activations are there
  base::Bytes fixed;               // of libraries, from the first iteration on (fixed_buffers)
  std::vector<base::Bytes> saved;  // per stage: kept by one micro-batch from its forward to its backward pass
  std::vector<base::Bytes> layer;  // per stage: the part of it of the block that keeps most, but for that of the loss
  std::vector<base::Bytes> kept;   // per stage: of one micro-batch until its gradients of weights are made, where these come later
  // Per stage: on top of it and of all states, while its backward pass runs; below 0 where gradients are not made.
  std::vector<base::Bytes> transient;
  std::vector<base::Bytes> transient_held;       // the same where the place of gradients that are not made is kept for them
  std::vector<std::vector<BlockMemory>> blocks;  // per stage, ascending; empty unless they are asked for
  [[nodiscard]] base::Bytes states() const { return weights + gradients + optimizer; }
  [[nodiscard]] base::Bytes always() const { return states() + fixed; }
  auto operator<=>(const DeviceMemory&) const = default;
};

// Returns: one per device of the cluster, zero where the plan does not use it.
// Requires: `dataflow` is dataflow_of(plan).
// Cost: O(nodes x points + blocks of the graph x devices).
enum class Blocks { left_out, counted };
[[nodiscard]] std::vector<DeviceMemory> device_memory(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
                                                      const profiles::FrameworkProfile& framework, Blocks blocks = Blocks::left_out);

// Returns: the use of the device that has least room left (MemoryUse), by its own capacity: devices may differ. `workspace` is what its
// profile reserves for context and libraries, the fixed part and the transient one; `optimizer` has `update` where that sets the peak.
// Requires: `devices` is what device_memory gives for the plan and cluster.
// Cost: O(distinct devices x schedule), as devices with the same numbers are walked through once.
[[nodiscard]] MemoryUse peak_memory(const pcg::Plan& plan, std::span<const DeviceMemory> devices, const topology::Cluster& cluster);

// Returns the peak of a plan that simulate_plan with `config` would report, without simulating.
// Cost: that of the two above.
[[nodiscard]] MemoryUse memory_of(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config = {});
// The same of every device that the plan uses, ascending.
[[nodiscard]] std::vector<MemoryUse> memory_by_device(const pcg::Plan& plan, const topology::Cluster& cluster,
                                                      const SimulationConfig& config = {});

// Memory that libraries hold on a device from the first iteration on, whatever the micro-batches (profiles::MemoryBehaviour). Workspaces of
// products. And placeholders of gradients: where a product adds its weight's gradient into the gradient buffer itself, autograd still gets
// a tensor of the weight's shape, of which there is one for all weights of a shape (Transformer Engine,
// transformer_engine/pytorch/module/base.py, get_dummy_wgrad; Megatron-LM's head takes them too, megatron/core/tensor_parallel/layers.py).
// And HybridEP's buffer, which has room for the tokens of all ranks of the exchange at once, each with the weights of a domain's experts in
// fp32; dispatch and combine of all layers share it (deepseek-ai/DeepEP, branch hybrid-ep, docs/Hybrid-EP_Implementation.md, "Buffer
// Allocation", "Shared Buffer"). And reduce_buffer() in ZeRO-3.
// Returns: one per device of the cluster, zero where the plan does not use it. Linear layers that read the same tensor (queries, keys and
// values; both halves of a gated unit) are one weight; of experts, each has its own.
// Cost: O(nodes x points).
[[nodiscard]] std::vector<base::Bytes> fixed_buffers(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster,
                                                     const profiles::FrameworkProfile& framework);

// Returns: the bytes of profiles::MemoryBehaviour::reduce_buffer in the plan's precision.
[[nodiscard]] base::Bytes reduce_buffer(const pcg::Plan& plan, const profiles::FrameworkProfile& framework);

}  // namespace sim
