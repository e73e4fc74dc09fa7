#pragma once
// Tensors that the forward pass of a virtual stage saves for backward, block by block of the graph: layers, mostly.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

struct SavedByBlock {
  std::map<int, std::vector<double>> saved;  // by block of the graph: bytes per device, from its forward to its backward pass
  std::map<int, std::vector<double>> again;  // the same: computed again, on top of what is kept, while gradients of the block are made
};

// `nodes`: of a virtual stage, ascending. A tensor counts for the first block that keeps it. Devices are numbered below `devices`.
// `copies_attention_output` as of activations.hpp.
// Cost: O(nodes x points + blocks x devices).
[[nodiscard]] SavedByBlock saved_by_block(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                          std::span<const std::uint32_t> nodes, std::size_t devices, bool copies_attention_output = false);

// A block whose activations are copied to the hosts and back (pcg::Offload). Where all of n layers are offloaded, two are on the device at
// once. Where k of them are, their copies share the pass out among them: that of the i-th is done when n i / k layers have run (Transformer
// Engine, transformer_engine/pytorch/cpu_offload.py, layer_window_map), and on the way back it begins when these are the ones that are
// left.
struct OffloadedBlock {
  std::optional<int>
      due;           // the layer before which it has left, and after whose backward pass it begins to come back; none: behind the last
  double bytes = 0;  // that each device copies, of the device that has most
};
using OffloadedBlocks = std::map<int, OffloadedBlock>;  // by block of the graph

// The offloaded blocks of a virtual stage with these nodes, without their bytes. Empty: nothing is offloaded. Cost: O(nodes).
[[nodiscard]] OffloadedBlocks offloaded_blocks(const pcg::Plan& plan, std::span<const std::uint32_t> nodes, int stage);

// The offloaded blocks that save something, with their bytes. Cost: that of saved_by_block.
[[nodiscard]] OffloadedBlocks offloaded_activations(const pcg::Plan& plan, const FlowGraph& flow,
                                                    const profiles::FrameworkProfile& framework, int stage);

}  // namespace sim
