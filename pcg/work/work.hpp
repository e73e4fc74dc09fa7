#pragma once
// The work of one operator at one shard. Start here: shard_operator() first, then the kernels of both passes (kernel.hpp), and what is
// saved between them; model_flops() is what the model asks for, however it is computed. Shapes `inputs` and `outputs` are of one shard.
// One source for each: forward_kernels.cpp, gradient_kernels.cpp, state_space_kernels.cpp, saved.cpp; work_parts.hpp is private.

#include <span>
#include <vector>

#include "base/units.hpp"
#include "pcg/operators/operator.hpp"
#include "pcg/work/kernel.hpp"

namespace pcg {

// Returns the kernels of the forward pass. What moves nothing gives none: sources, reshapes, splits, slices, summands, identity, dropout
// of 0.
[[nodiscard]] std::vector<Kernel> forward_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                  std::span<const TensorShape> outputs, Precision p);

// Returns the kernels of the backward pass that make gradients of the activations. needed[i]: the gradient of input i is wanted (false for
// data, labels); weight slots are skipped (but for attention, whose kernels give all gradients together), a weight elsewhere (a position
// table that is added) counts as an activation. Ask even if nothing is needed: the gradient of a fused activation comes first, and the
// weight gradient reads it. Adding up the gradients of a tensor with several readers is not counted here.
[[nodiscard]] std::vector<Kernel> input_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                         std::span<const TensorShape> outputs, const std::vector<bool>& needed,
                                                         Precision p);
[[nodiscard]] std::vector<Kernel> weight_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                          std::span<const TensorShape> outputs, Precision p);
// Whether the gradient of the operator's weights is a product of its own: schedules that leave gradients of weights for later leave these,
// while those of norms and tables are made together with the gradients of inputs.
[[nodiscard]] bool multiplies_for_weights(const Operator& op);

// Returns the operator as one shard runs it: an attention or a state space layer with its heads divided as the shard's widths are, an
// attention with the keys of the whole sequence where that is cut (they are gathered). Other operators come back as they are: their sizes
// are read off the shapes. Call it before forward_kernels(), gradients' kernels and saved(), which cannot know how many heads a shard has.
[[nodiscard]] Operator shard_operator(const Operator& op, std::span<const TensorShape> whole_inputs,
                                      std::span<const TensorShape> shard_inputs);

// Returns the multiply-adds that the model asks for, forward, 2 FLOPs each: matmuls, convolutions and whole attention
// squares (causal or not, flash or not; as wide as the window where there is one), nothing elementwise. It is what published model-FLOPs
// utilisation counts (Narayanan et al., arXiv 2104.04473, appendix; Chowdhery et al., arXiv 2204.02311, appendix B).
[[nodiscard]] base::Flops model_flops(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);

// Returns the part of model_flops that a causal mask throws away: half of a causal attention's square, of a window the corner that no
// query reaches, 0 of everything else. Some publish their utilisation without it (Dao, arXiv 2307.08691, section 4.1, divides the FLOPs of
// causal attention by 2).
[[nodiscard]] base::Flops masked_flops(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);

// The tensors and bytes that the backward pass of an operator reads: whole inputs and outputs by position (a tensor that several operators
// keep is kept once), and bytes of the operator's own: dropout masks at 1 B per element, the scores of unfused attention, the input of
// a fused gelu, the fp32 softmax of a cross-entropy, queries and keys that attention normalised, keys and values that latent attention
// laid out by head, copies of those that are repeated, what a state space layer normalised and what it gated. Statistics of norms, 4 B per
// row, are left out. The counts of a transformer layer follow Korthikanti et al., arXiv 2205.05198, section 4.1.
struct Saved {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
  base::Bytes own;
  base::Bytes own_joined;     // the part of `own` that is inputs 1 and 2 laid out anew: nothing where those are computed again
  base::Bytes own_attention;  // the part of `own` that selective recomputation frees (scores, their mask and dropped copy)
};
[[nodiscard]] Saved saved_for_backward(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs,
                                       Precision p);

// Whether it keeps scores of attention, which selective recomputation drops: fused attention never has them in memory.
[[nodiscard]] bool keeps_scores(const Operator& op);

}  // namespace pcg
