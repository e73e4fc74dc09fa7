#pragma once
// Tensors that the forward pass saves for the backward pass, each once per device however many operators read it.
// Start here: saved_by_block() for whole blocks; Activations, internal to sim/memory, counts tensor by tensor.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Bytes of other ranks that attention whose positions are cut holds in its backward pass. Gathered: all keys and values, and their
// gradients. In a ring: the block that is met and the one that comes in, of both. Zero for other operators.
[[nodiscard]] base::Bytes keys_of_others(const pcg::Plan& plan, std::uint32_t node);

// The tokens of all ranks that share experts out, which an operator that dispatches or combines holds in its backward pass where these are
// gathered (Dispatch::all_gather). Zero for other operators.
[[nodiscard]] base::Bytes tokens_of_others(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Whether fused attention keeps its output beside the copy of it that others read, on some device of the plan.
[[nodiscard]] bool copies_attention_output(const pcg::Plan& plan, const topology::Cluster& cluster,
                                           const profiles::FrameworkProfile& framework);

class Activations {
 public:
  // A gated unit multiplies an activation with another tensor. Unfused, two kernels keep the activation's input and both factors;
  // fused (FrameworkProfile::fused_gated_activation), the one kernel keeps its two inputs and computes the activation again.
  Activations(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework, bool copies_attention_output)
      : plan_(plan), flow_(flow), framework_(framework), copies_attention_output_(copies_attention_output) {}

  // The scores of unfused attention, which selective recomputation drops.
  enum class Scores { kept, dropped };
  // Adds to bytes[device] what these nodes (ascending) keep for their backward pass.
  void keep(std::span<const std::uint32_t> nodes, Scores scores, std::vector<double>& bytes);
  // The outputs of these nodes, and all that they save, are not saved from now on where the reader is of the same stage: it is computed
  // again.
  void drop(std::span<const std::uint32_t> nodes) { dropped_.insert(nodes.begin(), nodes.end()); }
  // Adds what they read from outside themselves: all that a recomputed block keeps.
  void save_inputs(std::span<const std::uint32_t> nodes, std::vector<double>& bytes);
  // Adds what the gradients of their weights are made of: what the nodes read, and the gradients of what they make.
  void save_for_weights(std::span<const std::uint32_t> nodes, std::vector<double>& bytes);
  // Adds what they make for others of the same stage: alive once it is computed again.
  void save_outputs(std::span<const std::uint32_t> nodes, std::vector<double>& bytes);
  // The scores alone, of the node that has most: alive while it is recomputed.
  void largest_attention(std::span<const std::uint32_t> nodes, std::vector<double>& bytes) const;
  // Forget what was kept: the next tensor counts again.
  void clear() { kept_.clear(); }

 private:
  // As it is; what an activation function keeps where the plan says so; what a product in low precision keeps.
  enum class Copy { as_it_is, fp8, operand };
  void save_tensor(pcg::TensorRef tensor, const Layout& layout, std::vector<double>& bytes, Copy copy = Copy::as_it_is);
  // How a node saves an input.
  [[nodiscard]] Copy copy_of(std::uint32_t node, std::size_t input) const;
  // The layout in which a reader's input is kept: before an all-gather, which is done again in the backward pass.
  const Layout& saved_layout(std::uint32_t node, std::size_t input) const;

  [[nodiscard]] bool is_dropped(std::uint32_t maker, std::uint32_t reader) const {
    return dropped_.contains(maker) && plan_.stage[maker] == plan_.stage[reader];
  }
  // Whether the input of a product is an activation that the product's own kernel computes from what the activation keeps.
  bool is_computed_again(std::uint32_t node, std::size_t input) const;
  // An RMS norm of which the framework keeps what its kernels made of the input, and not the input (profiles::MemoryBehaviour).
  [[nodiscard]] bool saves_norm_separately(std::uint32_t node) const;
  // Bytes that the framework saves for a node and its backward pass does not read (profiles::MemoryBehaviour).
  [[nodiscard]] double saved_by_framework(std::uint32_t node) const;

  const pcg::Plan& plan_;
  const FlowGraph& flow_;
  const profiles::FrameworkProfile& framework_;
  bool copies_attention_output_;
  std::set<std::uint32_t> dropped_;
  std::set<std::pair<pcg::TensorRef, std::vector<std::int64_t>>> kept_;
};

// Tensors that the forward pass of a virtual stage saves for backward, block by block of the graph: layers, mostly.
struct SavedByBlock {
  std::map<int, std::vector<double>> saved;  // by block of the graph: bytes per device, from its forward to its backward pass
  std::map<int, std::vector<double>> again;  // the same: computed again, on top of what is kept, while gradients of the block are made
};

// `nodes`: of a virtual stage, ascending. A tensor counts for the first block that keeps it. Devices are numbered below `devices`.
// `copies_attention_output` as above.
// Cost: O(nodes x points + blocks x devices).
[[nodiscard]] SavedByBlock saved_by_block(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                          std::span<const std::uint32_t> nodes, std::size_t devices, bool copies_attention_output = false);

// A block whose activations are copied to the hosts and back (pcg::Offload). Where all of n layers are offloaded, two are on the device at
// once. Where k of them are, their copies share the pass out among them: that of the i-th is done when n i / k layers have run (Transformer
// Engine, transformer_engine/pytorch/cpu_offload.py, layer_window_map), and on the way back it begins when these are the ones that are
// left.
struct OffloadedBlock {
  std::optional<int> due;  // the layer before which it has left, and after whose backward pass it begins to come back; none: after the last
  double bytes = 0;        // that each device copies, of the device that has most
};
using OffloadedBlocks = std::map<int, OffloadedBlock>;  // by block of the graph

// The offloaded blocks of a virtual stage with these nodes, without their bytes. Empty: nothing is offloaded.
// Cost: O(nodes).
[[nodiscard]] OffloadedBlocks offloaded_blocks(const pcg::Plan& plan, std::span<const std::uint32_t> nodes, int stage);

// The offloaded blocks that save something, with their bytes.
// Cost: that of saved_by_block.
[[nodiscard]] OffloadedBlocks offloaded_activations(const pcg::Plan& plan, const FlowGraph& flow,
                                                    const profiles::FrameworkProfile& framework, int stage);

}  // namespace sim
