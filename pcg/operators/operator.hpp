#pragma once
// The operators of a computation graph, as values. An operator says what is computed, never where or how finely it is
// split. Sizes that inputs already determine are not stored: weights' shapes follow from the operator and its
// activations (weight_shapes), so a graph can be rebuilt at other sizes (pcg/resizing).
// Start here: Operator is a variant of the structs below. operator_shapes.hpp infers shapes of outputs and weights, head_dims.hpp the heads
// of attention and state space layers, operator_yaml.hpp reads and writes one, tensor.hpp has TensorShape and Precision.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pcg/operators/tensor.hpp"

namespace pcg {

enum class Activation { none, relu, gelu, tanh, sigmoid };

// Sources. An input is a mini-batch's data or labels; a weight is trained.
struct Input {
  TensorShape shape;
  bool operator==(const Input&) const = default;
};
// The part of a model's weight that a rewritten graph stores: the block of `sizes` at `begin` of the tensor of sizes `whole`.
struct WeightPart {
  std::string of;                                 // its name in the model
  std::vector<std::int64_t> whole, begin, sizes;  // one number per dim
  bool operator==(const WeightPart&) const = default;
};
// A weight of the model, or what a rewritten graph stores and trains as one: parts of the model's weights, side by side along dim `along`.
// No parts: the model's weight of the node's own name. Of a frozen weight nothing makes the gradient, and no optimizer updates it.
struct Weight {
  TensorShape shape;
  std::vector<WeightPart> parts{};
  int along = 0;
  bool frozen = false;
  bool operator==(const Weight&) const = default;
};

// x[.., k] . w[k, out] (+ bias[out]), then the activation. transposed_weight: w is stored [out, k] (tied embeddings).
// Inputs: x, w, then bias if has_bias.
struct Linear {
  std::int64_t out = 0;
  bool has_bias = false;
  bool transposed_weight = false;
  Activation activation = Activation::none;
  bool operator==(const Linear&) const = default;
};
// a[.., m, k] . b[.., k, n]; transpose_b: b is [.., n, k]. Leading dims equal.
struct BatchMatmul {
  bool transpose_b = false;
  bool operator==(const BatchMatmul&) const = default;
};
// A window that slides over the rows or the columns of images: its extent, its step, and the layers of padding on either side.
struct Window {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  bool operator==(const Window&) const = default;
};
// x[n, c, h, w] * w[out, c/groups, rows.kernel, columns.kernel] (+ bias[out]), zero padding. Inputs: x, w, bias if has_bias.
struct Conv2d {
  std::int64_t out = 0;
  Window rows, columns;
  int groups = 1;
  bool has_bias = false;
  Activation activation = Activation::none;
  bool operator==(const Conv2d&) const = default;
};
// x[n, c, h, w]; kernel 0 pools the whole plane (global).
struct Pool2d {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window rows, columns;
  bool operator==(const Pool2d&) const = default;
};
// Over the last dim. Inputs: x, gain[h], and bias[h] unless rms.
struct LayerNorm {
  bool rms = false;
  bool operator==(const LayerNorm&) const = default;
};
// x[n, c, h, w], gain[c], bias[c]: statistics over n, h, w of the whole batch.
struct BatchNorm {
  bool operator==(const BatchNorm&) const = default;
};
struct Softmax {
  int axis = -1;
  bool operator==(const Softmax&) const = default;
};
// Scaled dot-product attention with its two batched matmuls and softmax (and dropout on the scores), projections apart. flash: scores are
// never stored. rope: rotates q and k by position.
// Inputs: packed: one tensor [.., s, (heads + 2 kv_heads) d], laid out by kv head: its queries, its key, its value;
// else q[.., s, heads d], k[.., t, kv_heads d], v[.., t, kv_heads e]; latent: q[.., s, heads (n + r)], kv[.., t, kv_heads (n + e)],
// r[.., t, r]: a key is its own n numbers and r that all heads share (DeepSeek-V2, arXiv 2405.04434, section 2.1). After them the weights:
// gains [d] of queries and of keys if qk_norm, sinks [heads] if sinks, bias [buckets, heads] (relative positions) if has_bias.
// Output [.., s, heads e]; e is d where inputs do not say otherwise.
struct Attention {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  bool packed = true;
  bool causal = false;
  bool flash = false;
  bool rope = false;
  bool has_bias = false;
  double dropout = 0;
  bool latent = false;         // not packed; its rope rotates the r shared dims of keys, and as many of queries
  bool qk_norm = false;        // RMS norms over the dims of each query and of each key, before rope; not latent
  bool repeated_keys = false;  // keys and values are copied for each head that shares them, and these copies are exchanged and kept
  bool sinks = false;          // a learned score per head, which takes its part of the softmax and has no value
  std::int64_t window = 0;     // causal: the number of keys that a query sees, itself included; 0: all before it
  bool chunked = false;        // the window is a chunk of the sequence: a query sees the keys of its own chunk
  std::int64_t keys =
      0;  // 0 in every graph. Of one shard (pcg/work/work.hpp): the keys that its queries meet, gathered where it holds fewer
  bool operator==(const Attention&) const = default;
};
// The part of a Mamba-2 layer between its two projections (Dao and Gu, arXiv 2405.21060, sections 6 and 7.1). A causal convolution over
// positions, of each channel by itself, and silu make x, B and C of each position; each head scans them with its state h [p, state],
// h = exp(-a dt) h + dt x B^T, y = h C + d x, with dt = softplus(step + its bias); y times silu(gate) is RMS-normalised over its group.
// Input: one tensor [.., s, groups (heads / groups (2 p + 1) + 2 state)], laid out by group: gates and x of its heads, B, C, and a step for
// each head. After it the weights: filters [channels, kernel] and their biases [channels], where channels = groups (heads / groups p +
// 2 state); a, step biases and d, [heads] each; gains [heads p]. Output [.., s, heads p].
struct StateSpace {
  std::int64_t heads = 1;
  std::int64_t groups = 1;
  std::int64_t state = 1;
  std::int64_t kernel = 4;   // positions that the convolution sees
  std::int64_t chunk = 256;  // positions that kernels take at a time: inside of a chunk they multiply, from chunk to chunk they scan
  bool operator==(const StateSpace&) const = default;
};
// Rows of w[vocabulary, width] for each index: idx[..] -> [.., width]. Inputs: idx, w.
struct Embedding {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  bool operator==(const Embedding&) const = default;
};
// Sum of rows: idx[n, bag] -> [n, width].
struct EmbeddingBag {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  bool operator==(const EmbeddingBag&) const = default;
};
struct Unary {
  enum class Kind { relu, gelu, tanh, sigmoid, silu, exp, scale, identity, relu2 };  // relu2: the square of relu
  Kind kind = Kind::relu;
  double factor = 1;
  bool operator==(const Unary&) const = default;
};
// Elementwise; b may be broadcast: missing leading dims, or size 1.
struct Binary {
  enum class Kind { add, subtract, multiply };
  Kind kind = Kind::add;
  bool operator==(const Binary&) const = default;
};
struct Concat {
  int axis = 0;
  bool operator==(const Concat&) const = default;
};
struct Split {
  int axis = 0;
  std::vector<std::int64_t> sizes;
  bool operator==(const Split&) const = default;
};
// One slice [begin, begin + length) of an axis; the axis stays.
struct Slice {
  int axis = 0;
  std::int64_t begin = 0;
  std::int64_t length = 1;
  bool operator==(const Slice&) const = default;
};
// New sizes; 0 keeps the input's size at that place, -1 is what is left (at most one).
struct Reshape {
  std::vector<std::int64_t> sizes;
  bool operator==(const Reshape&) const = default;
};
struct Transpose {
  std::vector<int> permutation;
  bool operator==(const Transpose&) const = default;
};
// Repeats a dim of size 1 to `size`.
struct Broadcast {
  int axis = 0;
  std::int64_t size = 1;
  bool operator==(const Broadcast&) const = default;
};
struct Dropout {
  double rate = 0.1;
  bool operator==(const Dropout&) const = default;
};
struct Reduction {
  enum class Kind { sum, mean };
  Kind kind = Kind::sum;
  int axis = 0;
  bool operator==(const Reduction&) const = default;
};  // the axis goes
// logits[.., classes], labels[..] index -> loss of each position [..].
struct CrossEntropy {
  bool operator==(const CrossEntropy&) const = default;
};
// (x - y)^2 elementwise: the loss of each element. Inputs: x, target.
struct SquaredError {
  bool operator==(const SquaredError&) const = default;
};
// Tensors of one shape as summands of one (Unity, OSDI'22, figure 11b): its value is their sum, but nothing is computed or moved: the
// partial sums of the inputs are the partial sums of the output, those of input 0 first. parts: how many each input has.
struct Summands {
  std::vector<int> parts = {1, 1};
  bool operator==(const Summands&) const = default;
};
// Mixture of experts (GShard). MoeDispatch: x[b, s, h], gates[b, s, experts] -> [experts, b, c, h], c = ceil(top_k * s * capacity_factor
// * imbalance / experts); each of gcd(s, c) equal slices of s has its own share of c. ExpertLinear: x[experts, b, c, k], w[experts, k, out]
// (+ bias[experts, out]) -> [experts, b, c, out]. MoeCombine: y[experts, b, c, h], gates[b, s, experts] -> [b, s, h].
// Routing limited to groups (DeepSeek-V2, arXiv 2405.04434, section 2.2.2): a token has its experts in `groups_per_token` of `groups` equal
// parts of them, which bounds how many hosts it travels to; values do not depend on it.
// imbalance: no token is dropped, and the expert that gets most has this many times its even share; as all wait for it, all have as much.
struct MoeDispatch {
  int top_k = 2;
  double capacity_factor = 1;
  int groups = 1, groups_per_token = 1;
  double imbalance = 1;
  bool operator==(const MoeDispatch&) const = default;
};
struct ExpertLinear {
  std::int64_t out = 0;
  Activation activation = Activation::none;
  bool has_bias = false;
  bool operator==(const ExpertLinear&) const = default;
};
struct MoeCombine {
  int top_k = 2;
  double capacity_factor = 1;
  int groups = 1, groups_per_token = 1;
  double imbalance = 1;
  bool operator==(const MoeCombine&) const = default;
};

using Operator = std::variant<Input, Weight, Linear, BatchMatmul, Conv2d, Pool2d, LayerNorm, BatchNorm, Softmax, Attention, StateSpace,
                              Embedding, EmbeddingBag, Unary, Binary, Concat, Split, Slice, Reshape, Transpose, Broadcast, Dropout,
                              Reduction, CrossEntropy, SquaredError, Summands, MoeDispatch, ExpertLinear, MoeCombine>;

[[nodiscard]] inline bool is_source(const Operator& op) { return std::holds_alternative<Input>(op) || std::holds_alternative<Weight>(op); }
// The name used in graph files and tables: "linear", "batch_matmul", "layer_norm", ...
[[nodiscard]] std::string_view kind_name(const Operator& op);
// The names of all kinds, in the order of the alternatives of Operator.
[[nodiscard]] const std::vector<std::string>& operator_kind_names();

}  // namespace pcg
