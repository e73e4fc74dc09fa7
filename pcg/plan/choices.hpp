#pragma once
// Choices of a plan besides its graph, mapping and schedule: memory (recomputed parts, ZeRO, offloading), communication overlapped with
// computation, and CUDA graphs. A choice that a plan leaves open is as the framework does it (profiles/framework_profile.hpp).

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// The recomputed parts, in place of a word for all layers.
struct RecomputedParts {
  int blocks = 0;  // of this many first layers of each virtual stage; 0: of all
  std::vector<Module>
      modules;  // with Recompute::none: what they make is not kept for anyone; ascending. None, with Recompute::full: whole layers
  std::vector<int> only;  // in these blocks of the graph, ascending; empty: in all
  bool operator==(const RecomputedParts&) const = default;
};

// How ZeRO shares out what its stage names.
struct ZeroPolicy {
  int groups = 1;               // groups of neighbours among the devices that hold a weight; each group shards a copy of its own
  std::optional<int> prefetch;  // stage 3: weights are gathered at most this many blocks ahead; else as the framework does
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

// Tensors in the memory of the hosts.
struct Offload {
  // Activations that layers save for backward, copied there and back overlapped with the passes. Those of the last layer stay: its backward
  // pass follows at once.
  bool activations = false;
  int blocks = 0;          // activations of this many first layers of each virtual stage; 0: of all
  bool optimizer = false;  // moments and master weights; the hosts update them
  bool operator==(const Offload&) const = default;
};

// The storage of weights that are operands of products inside layers: bf16, beside which low precision keeps copies that it casts again
// after each update, or the low precision itself, in the formats of Transformer Engine. fp8 with scales of tensors keeps its transposed
// copy, too, on devices that cannot read operands either way (Hopper).
enum class WeightStorage { bf16, fp8, fp8_transposed, mxfp8, nvfp4 };

struct MemoryPolicy {
  RecomputedParts recomputed;
  ZeroPolicy zero;
  Offload offload;
  WeightStorage weights = WeightStorage::bf16;  // in other precisions: as the precision stores reals
  bool bf16_moments = false;                    // of Adam or momentum, instead of fp32
  // Inputs of activation functions and of the products of gated units are saved for backward in fp8, cast there and back.
  bool fp8_activation_inputs = false;
  bool operator==(const MemoryPolicy&) const = default;
};

struct Overlap {
  std::optional<bool> gradients;   // their synchronisation overlaps with the backward pass
  std::optional<bool> parameters;  // weights updated in shards (ZeRO-1 and -2) are gathered during the next forward pass
  std::optional<bool> tensor;      // gathers before a product and reductions after it overlap with the product, in slices
  // Tokens travel to and from their experts during the kernels of another micro-batch: forward passes are merged with backward passes
  // (sim/schedules/schedule.hpp).
  std::optional<bool> experts;
  bool operator==(const Overlap&) const = default;
};

// Its words in files and summaries.
struct OverlapWord {
  std::string_view word;
  std::optional<bool> Overlap::*choice;
};
inline constexpr std::array<OverlapWord, 4> kOverlapWords = {{{"gradients", &Overlap::gradients},
                                                              {"parameters", &Overlap::parameters},
                                                              {"tensor", &Overlap::tensor},
                                                              {"experts", &Overlap::experts}}};

// "overlap gradients, parameters, no overlap of tensor": what is said, in the order of the words; empty: nothing.
[[nodiscard]] std::string to_text(const Overlap& overlap);

struct PcgNode;

// Megatron-Core's --cuda-graph-scope: attn, mlp, mamba, and moe_router with moe_preprocess.
struct GraphedParts {
  bool attention = false;  // with the norm before it
  bool mlp = false;        // of layers without experts, with the norm before it
  bool router = false;     // with the norm before it, shared experts, and the counts of tokens per expert; the exchange itself is outside
  bool mamba = false;      // with the norm before it
  bool operator==(const GraphedParts&) const = default;
};
// Their words in files.
inline constexpr std::array<std::pair<std::string_view, bool GraphedParts::*>, 4> kGraphedWords = {{{"attention", &GraphedParts::attention},
                                                                                                    {"mlp", &GraphedParts::mlp},
                                                                                                    {"router", &GraphedParts::router},
                                                                                                    {"mamba", &GraphedParts::mamba}}};

// Whether a node's kernels are in a graph: by the parts of its name, as model families give them ("layer 3.attention.qkv"). Norms before
// a feed-forward part are with either word for it. Cost: O(length of the name).
[[nodiscard]] bool is_graphed(const PcgNode& node, const GraphedParts& parts);

}  // namespace pcg
