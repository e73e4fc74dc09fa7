#pragma once
// The parts of each layer whose kernels hosts launch as CUDA graphs, forward and backward.

#include <array>
#include <string_view>
#include <utility>

namespace pcg {

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
