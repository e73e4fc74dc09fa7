#pragma once
// What a plan says of saving memory besides its words for recomputation and ZeRO.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace pcg {

// Parts of a layer that can be computed again by themselves (Megatron-Core's --recompute-modules).
enum class Module {
  attention,   // the core of attention: scores, softmax, values
  norm,        // every normalisation
  mlp,         // the dense feed-forward part, without its residual
  moe,         // the experts' part with router, dispatch and combine
  activation,  // activations of feed-forward parts, with the product of gated ones
  mla_up,      // the up-projections of latent attention
  shared       // experts of every token
};
// Their words in files and summaries, in the order of the enum.
inline constexpr std::array<std::string_view, 7> kModuleWords = {"attention", "norm", "mlp", "moe", "activation", "mla_up", "shared"};

// What is recomputed, in place of a word for all layers.
struct RecomputedParts {
  int blocks = 0;  // of the first so many layers of each virtual stage; 0: of all
  std::vector<Module>
      modules;  // with Recompute::none: what they make is not kept for anyone; ascending. None, with Recompute::full: whole layers
  std::vector<int> only;  // in these blocks of the graph, ascending; empty: in all
  bool operator==(const RecomputedParts&) const = default;
};

// How ZeRO shares out what its stage names.
struct ZeroPolicy {
  int groups = 1;               // the devices that hold a weight are so many groups of neighbours; each group shares out a copy of its own
  std::optional<int> prefetch;  // stage 3: weights are gathered at most so many blocks ahead; else as the framework does
  bool accumulates = false;     // stages 2 and 3: whole gradients are added up over the micro-batches, and shared out once
  bool keeps_weights = false;   // stage 3: what is gathered for a forward pass is kept for the backward pass
  std::vector<int> blocks;      // of the graph, whose weights alone are shared out, ascending; empty: all. Others are held as with stage 0
  bool operator==(const ZeroPolicy&) const = default;
};
// The stage at which the weights of a block are held, where that of the plan is `zero`.
[[nodiscard]] inline int zero_of_block(int zero, const ZeroPolicy& policy, int block) {
  return policy.blocks.empty() || std::ranges::binary_search(policy.blocks, block) ? zero : 0;
}
// Whether the gradients of every micro-batch are reduced to shards, which alone are kept.
[[nodiscard]] inline bool shards_gradients(int zero, const ZeroPolicy& policy) { return zero >= 2 && !policy.accumulates; }

// What lies in the memory of the hosts.
struct Offload {
  // What layers keep for their backward pass, copied there and back beside the passes. Those of the last layer of all stay: its backward
  // pass follows at once.
  bool activations = false;
  int blocks = 0;          // activations of the first so many layers of each virtual stage; 0: of all
  bool optimizer = false;  // moments and master weights; the hosts update them
  bool operator==(const Offload&) const = default;
};

// What weights are kept in that are operands of products inside layers: bf16, beside which low precision keeps copies that it casts again
// after each update, or the low precision itself, in the formats of Transformer Engine. fp8 with scales of tensors keeps its transposed
// copy, too, on devices that cannot read operands either way (Hopper).
enum class WeightStorage { bf16, fp8, fp8_transposed, mxfp8, nvfp4 };
// Their words, in the order of the enum.
inline constexpr std::array<std::string_view, 5> kWeightStorageWords = {"bf16", "fp8", "fp8_transposed", "mxfp8", "nvfp4"};

struct MemoryPolicy {
  RecomputedParts recomputed;
  ZeroPolicy zero;
  Offload offload;
  WeightStorage weights = WeightStorage::bf16;  // in other precisions: as the precision stores reals
  bool bf16_moments = false;                    // of Adam or momentum, instead of fp32
  // What activation functions and the products of gated units read is kept for the backward pass in fp8, cast there and back.
  bool fp8_activation_inputs = false;
  bool operator==(const MemoryPolicy&) const = default;
};

}  // namespace pcg
