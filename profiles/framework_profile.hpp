#pragma once
// A framework profile: what the software around a plan does and what that costs. How gradients are bucketed and what is overlapped are
// the framework's documented defaults; the host's times are fitted (profiles/frameworks/*.yaml name the rows).
//
// The host is a stream of its own: it launches a device's kernels and collectives one after another and runs ahead of the device; a
// kernel starts when it is launched and the device is free. Small kernels leave the device waiting for the host.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"

namespace profiles {

// The basis of the host's times: none is measured, some are, all that are not 0 are.
enum class HostBasis { assumed, partly, fitted };
[[nodiscard]] const std::string& name_of(HostBasis basis);

// Host time in addition to the device profile's launch_overhead.
struct HostCosts {
  base::Seconds forward_kernel;    // per kernel of a forward pass (interpreter, dispatch)
  base::Seconds backward_kernel;   // per kernel of a backward pass (autograd engine)
  base::Seconds attention_kernel;  // per kernel of unfused attention after a pass's first, in place of the two above; 0: as these
  base::Seconds collective;        // per collective or message, in place of launch_overhead
  base::Seconds launch_jitter;     // mean lateness of a host at a collective: the slowest of n is (1/2 + ... + 1/n) times this later
  base::Seconds recomputed_block;  // per block that is recomputed: saving and restoring random states, a nested backward pass
  base::Seconds unit;              // per unit of ZeRO-3, micro-batch and pass: hooks, views and streams around its gathers and reductions
  base::Seconds exchange;          // per dispatch or combine of an expert layer and pass: masks, counts and splits of the exchange
  base::Seconds expert;            // per expert that a device holds, its product and pass: experts' products are launched one by one
  base::Seconds micro_batch;       // per micro-batch of a stage and pass: loader, schedule, loss
  base::Seconds iteration;         // per iteration: optimizer step, gradient norm, logging
  HostBasis basis = HostBasis::assumed;
  // By a trace (scenarios/comparison/calibration.hpp): nine in ten iterations that it was not fitted to are off by no more, as a logarithm.
  double held_out_spread = 0;  // 0: none was held out
  bool operator==(const HostCosts&) const = default;
};

// A behaviour at stage boundaries. Interleaved: devices have several virtual stages (chunks); plain: one.
struct BySchedule {
  bool plain = false, interleaved = false;
  [[nodiscard]] bool of(const pcg::Plan& plan) const { return plan.chunks > 1 ? interleaved : plain; }
  bool operator==(const BySchedule&) const = default;
};

// Bytes that a step moves per element where frameworks run it as kernels of its own, all of a pass together, and how many kernels these
// are. Strided: those of kernels of that kind (pcg::KernelKind), one kernel more.
struct BytesPerElement {
  base::Bytes forward, backward;
  int forward_kernels = 1, backward_kernels = 1;
  base::Bytes forward_strided, backward_strided;
  bool operator==(const BytesPerElement&) const = default;
};

// Kernels of the softmax of unfused attention where the framework's own kernel does not run: it wants a multiple of `heads` of samples and
// heads on a device, and `keys` at most. All of a pass together, bytes per score of half precision. heads 0: its kernel always runs.
struct FallbackSoftmax {
  int heads = 0;
  std::int64_t keys = 0;
  int forward_kernels = 0, backward_kernels = 0;
  base::Bytes forward, backward;
  bool operator==(const FallbackSoftmax&) const = default;
};

// Numbers that each pass of unfused attention reads and writes per score outside its softmax, where scaling, mask and the product with the
// softmax's output are kernels of their own. Masked: of either pass, where attention is causal.
struct UnfusedScores {
  double forward = 0, backward = 0, masked = 0;
  bool operator==(const UnfusedScores&) const = default;
};

// Bytes that copies move per parameter of a ZeRO-3 unit: from what was gathered to the weights' own tensors, and from the gradients' to
// what is reduced, there by a kernel bound by its elements (pcg::KernelKind::strided), too.
struct UnitCopies {
  base::Bytes gathered, reduced, reduced_strided;
  bool operator==(const UnitCopies&) const = default;
};

// A bucket by its parameters: `parameters`, or `per_replica` for each device that adds them up, whichever is more. Of the first stage of a
// pipeline: other stages have one bucket, because the backward passes of earlier stages hide it.
struct OverlappedBucket {
  double parameters = 0, per_replica = 0;  // both 0: the framework says nothing of its own
  [[nodiscard]] bool empty() const { return parameters == 0 && per_replica == 0; }
  // Parameters of a bucket that `replicas` replicas share; more are in it where the last tensor goes over.
  // Requires: !empty().
  [[nodiscard]] double parameters_among(std::size_t replicas) const {
    return std::max(parameters, per_replica * static_cast<double>(replicas));
  }
  bool operator==(const OverlappedBucket&) const = default;
};

// Memory of a training beyond the tensors of its plan.
struct MemoryBehaviour {
  // A cross entropy of half-precision logits, per logit: saved for the backward pass, and temporaries of the
  // backward pass, the gradient of the logits among it.
  base::Bytes loss_kept{4}, loss_temporaries{2};
  base::Bytes adam_temporaries;  // of each parameter that Adam updates, there only while it does
  // In ZeRO-3 in half precision the shards are weights and gradients of 4 bytes, the latter from when the backward pass makes them until
  // the update; else weights and gradients are half precision, there throughout, beside a master copy.
  bool fp32_shards = false;
  bool gradient_placeholders = false;  // where the product adds into the gradient buffer, autograd gets an empty tensor of each shape
  bool half_gradients = false;         // in bf16 those of a micro-batch stay, whole, beside the fp32 ones that they are added to
  base::Bytes rms_norm;                // kept of an RMS norm for each element, in place of what came in; 0: that alone
  bool weighed_activations = false;    // gates weigh what activations of experts made in a kernel of its own, which keeps its input
  // Generations whose fused attention has its output in another layout than what reads it, so that both are kept.
  std::set<std::string> copied_attention_output;
  // Parameters of a buffer that ZeRO 2 and 3 copy gradients to before they are reduced, as large whatever the model: there while a backward
  // pass of ZeRO 2 runs, always in ZeRO 3.
  double reduce_buffer = 0;
  double reuse_distance = 0;                     // ZeRO 3: gathered weights stay if less parameters are used before they are again
  double live_parameters = 0;                    // ZeRO 3: a block with a weight of as many is all that is gathered; 0: no limit
  int product_workspaces = 0;                    // of the framework's own products
  std::optional<base::Bytes> product_workspace;  // of one of them, where it is not the device's (DeviceProfile::product_workspace)
  int library_workspaces = 0;                    // of a library of layers, which has the device's
  int expert_workspaces = 0;                     // more of the library, where there are experts
  double allocator_share = 0;                    // what the allocator holds on top of what is allocated at the peak, as a share of that
  bool operator==(const MemoryBehaviour&) const = default;
};

struct FrameworkProfile {
  pcg::Framework framework = pcg::Framework::generic;
  base::Bytes gradient_bucket;               // gradients are synchronised when this much is ready; infinite: all at the end
  bool overlap_gradients = true;             // overlapped with the backward pass; else after it
  OverlappedBucket overlapped_bucket;        // in place of gradient_bucket where gradients are overlapped
  bool overlap_parameters = false;           // weights updated in shards are gathered during the next forward pass; else after the update
  bool overlap_tensor = false;               // gathers before a product and reductions after it overlap with it, slice by slice
  bool overlap_input_gradient = true;        // the collective of an input gradient overlaps with the weight-gradient kernels
  bool fused_gradient_accumulation = false;  // the weight-gradient matmul adds into the gradient buffer
  bool fp32_gradients = false;               // in bf16: accumulated and reduced in fp32, unless the scenario says
  bool fp32_gradient_copy = false;           // half-precision gradients are copied to fp32 for the optimizer, until it is done
  bool fused_gated_activation = false;       // activation and product of a gated unit are one kernel, which computes the activation again
  base::Bytes adam_bytes;                    // read and written per parameter by an Adam of several passes in fp32; 0: one kernel does all
  bool compiled = false;                     // a compiler fuses what is element by element: gated units, rotations and RMS norms
  bool joint_gated_projections = false;      // both projections of a gated unit are one product
  bool host_waits_for_batch = false;         // the host waits for its device before each micro-batch that it reads (a blocking copy)
  bool host_waits_for_tokens = false;        // and before each dispatch of a forward pass, for how many tokens each expert gets
  bool host_waits_for_activations = false;   // and before each activation of experts with biases (a number copied to the device)
  bool blocking_launches = false;            // the host waits for all that it launches, one by one (CUDA_LAUNCH_BLOCKING=1)
  // A stage computes while it sends; else its compute stream waits until the message has left.
  BySchedule overlap_stage_boundary{true, true};
  BySchedule host_waits_for_stage;         // the host waits for a stage boundary's data before it launches what reads them
  int prefetch_units = 1;                  // ZeRO-3: weights are gathered at most this many blocks ahead of the one being computed
  bool keeps_root_unit = false;            // and those of blocks that are no layers stay whole from a forward pass to its backward pass
  double transformer_dropout = 0;          // of a transformer that says nothing of dropout: the default of the framework's options
  bool unfused_experts = false;            // each expert's product is a kernel of its own; else one takes all experts
  bool sorts_exchanged_tokens = false;     // tokens that came by all-to-all are sorted by expert, and back, in passes of their own
  bool sequence_first = false;             // activations lie position by position, the samples of each side by side
  bool stops_recomputation_early = false;  // a block is computed again up to the last tensor that its gradients read (pcg::run_again)
  UnitCopies unit_copies;
  BytesPerElement loss;        // the cross entropy of half-precision logits, per logit; 0: one fused kernel reads the logits once
  BytesPerElement loss_casts;  // element by element, before its forward kernels and after its backward kernels
  FallbackSoftmax fallback_softmax;
  UnfusedScores unfused_scores;
  BytesPerElement expert_bias;  // adding the biases of experts, per element of their outputs; 0: the last product adds them
  BytesPerElement rotation;     // rotary embedding, per element of queries and keys that it rotates; 0: one fused kernel
  BytesPerElement rms_norm;     // per element of what it normalises, without the gradient of its weight; 0: one fused kernel
  // Attention whose ranks of context meet each other's keys block by block, for each block of another rank. Per element of its output: what
  // a block makes is merged with what those before it made, and so are gradients of queries. Per element of the block's keys and values:
  // copies into the buffer that is sent, and sums of gradients. 0: the kernels of attention do it.
  BytesPerElement context_merge, context_copy;
  MemoryBehaviour memory;
  // Share of the tensor cores' peak that fused attention reaches, by GPU generation (a device profile's name up to its first '-');
  // absent: as the device profile has it.
  std::map<std::string, double> attention;
  std::map<std::string, double> attention_gradient;  // of its backward pass; absent: as `attention`
  // Keys that take as long as what a block of threads of either pass has to do besides; 0: the share is of the whole kernel.
  double attention_block_keys = 0, attention_gradient_block_keys = 0;
  // Share of its benchmark rate that a product on tensor cores keeps in training, by generation, where rows of the framework ask for
  // another one than the device's profile has (DeviceProfile::sustained).
  std::map<std::string, double> sustained;
  HostCosts host;
  std::string runs;  // the plans that it runs, as wishes of a search: "{schedule: [1f1b, interleaved]}"; empty: all
  bool operator==(const FrameworkProfile&) const = default;
};

// Returns the overlaps of a plan: as it says, else as the framework does. Experts: as it says; no framework merges passes by default.
struct Overlaps {
  bool gradients = false, parameters = false, tensor = false, experts = false;
  bool operator==(const Overlaps&) const = default;
};
[[nodiscard]] Overlaps overlaps_of(const FrameworkProfile& framework, const pcg::Overlap& said);

// How many blocks ahead ZeRO-3 gathers weights: as the plan says, else as the framework does. `largest`: parameters of the largest weight
// of the block being computed.
[[nodiscard]] inline int prefetch_units(const FrameworkProfile& framework, const pcg::Plan& plan, double largest) {
  const double live = framework.memory.live_parameters;
  return plan.memory.zero.prefetch.value_or(live > 0 && largest >= live ? 0 : framework.prefetch_units);
}

// Whether ZeRO-3 keeps a block's gathered weights for the backward pass: as the plan says of all, and the framework of those of no layer.
[[nodiscard]] inline bool keeps_gathered(const FrameworkProfile& framework, const pcg::Plan& plan, int block) {
  return plan.memory.zero.keeps_weights || (framework.keeps_root_unit && !plan.pcg.blocks()[static_cast<std::size_t>(block)].weighty);
}

// Returns the profile that ships for a framework.
// Cost: O(1), read once.
[[nodiscard]] const FrameworkProfile& framework_profile(pcg::Framework f);
[[nodiscard]] std::string_view framework_text(pcg::Framework f);  // its file
// Returns its map `framework`, as its file has it.
[[nodiscard]] const base::Yaml& framework_section(pcg::Framework f);
// Reads the text form (docs/formats/profiles.md).
// Throws: base::InputError with every problem found.
[[nodiscard]] FrameworkProfile load_framework_profile(const base::Yaml& document);
// Reads such a map; problems go to `sink`, `path` is its place ("training.framework").
[[nodiscard]] FrameworkProfile read_framework_section(const base::Yaml& section, const std::string& path, base::Diagnostics& sink);

}  // namespace profiles
