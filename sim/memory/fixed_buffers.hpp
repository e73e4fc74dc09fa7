#pragma once
// What libraries hold on a device from the first iteration on, whatever the micro-batches (profiles::MemoryBehaviour). Workspaces of
// products. And placeholders of gradients: where a product adds its weight's gradient into the gradient buffer itself, autograd still gets
// a tensor of the weight's shape, of which there is one for all weights of a shape (Transformer Engine,
// transformer_engine/pytorch/module/base.py, get_dummy_wgrad; Megatron-LM's head takes them too, megatron/core/tensor_parallel/layers.py).
// And HybridEP's buffer, which has room for the tokens of all ranks of the exchange at once, each with the weights of a domain's experts in
// fp32; dispatch and combine of all layers share it (deepseek-ai/DeepEP, branch hybrid-ep, docs/Hybrid-EP_Implementation.md, "Buffer
// Allocation", "Shared Buffer").

#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Returns: one per device of the cluster, zero where the plan does not use it. Linear layers that read the same tensor (queries, keys and
// values; both halves of a gated unit) are one weight; of experts, each has its own.
// Cost: O(nodes x points).
[[nodiscard]] std::vector<base::Bytes> fixed_buffers(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster,
                                                     const profiles::FrameworkProfile& framework);

}  // namespace sim
