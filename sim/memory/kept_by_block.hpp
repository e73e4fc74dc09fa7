#pragma once
// What the forward pass of a virtual stage keeps, block by block of the graph: layers, mostly.

#include <map>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

struct KeptByBlock {
  std::map<int, std::vector<double>> saved;  // by block of the graph: bytes per device, from its forward to its backward pass
  std::map<int, std::vector<double>> again;  // the same: computed again, on top of what is kept, while gradients of the block are made
};

// `nodes`: of a virtual stage, ascending. A tensor counts for the first block that keeps it. Devices are numbered below `devices`.
// `copies_attention_output` as of activations.hpp.
// Cost: O(nodes x points + blocks x devices).
[[nodiscard]] KeptByBlock kept_by_block(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                        std::span<const std::uint32_t> nodes, std::size_t devices, bool copies_attention_output = false);

// Whether what a block of a stage keeps is copied to the hosts (pcg::Offload).
[[nodiscard]] bool is_offloaded(const pcg::Plan& plan, int stage, int block);

// By block: the bytes that each device copies, of the device that has most. Empty: nothing is offloaded. Cost: that of kept_by_block.
[[nodiscard]] std::map<int, double> offloaded_bytes(const pcg::Plan& plan, const FlowGraph& flow,
                                                    const profiles::FrameworkProfile& framework, int stage);

}  // namespace sim
