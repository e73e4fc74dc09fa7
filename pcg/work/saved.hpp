#pragma once
// The memory that an operator keeps from its forward to its backward pass, at one shard.

#include <span>
#include <vector>

#include "base/units.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

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
