#pragma once
// What an operator costs a device, before any device is known: kernels with their FLOPs and bytes, forward, gradient of the inputs
// and gradient of the weights apart, and what must be kept in memory in between. All for local shard shapes.

#include <span>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

enum class KernelKind { matmul, convolution, attention, softmax, norm, elementwise, embedding, pooling, reduction, copy, loss, optimizer };
[[nodiscard]] std::string_view to_text(KernelKind k);

struct Kernel {
  KernelKind kind = KernelKind::elementwise;
  std::string_view name;                        // static text, for traces: "linear.forward"
  base::Flops flops;                            // 2 per multiply-add
  base::Bytes bytes;                            // read and written in device memory, each tensor once
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  // of a matmul, or of the matmul that a convolution or attention amounts to; else 0
  bool tensor_cores = false;                    // it multiplies on tensor cores where the precision has them
  bool operator==(const Kernel&) const = default;
};

// The operator as it stands at one shard: an attention with its heads divided as the shard's widths are, and with the keys of the whole
// sequence where that is cut (they are gathered). Other operators come back as they are: their sizes are read off the shapes. Call it
// before the functions below, which cannot know how many heads a shard has.
[[nodiscard]] Operator shard_operator(const Operator& op, std::span<const TensorShape> whole_inputs,
                                      std::span<const TensorShape> shard_inputs);

// Multiply-adds that the model asks for, forward, 2 FLOPs each, whoever computes them: matmuls, convolutions and whole attention
// squares (causal or not, flash or not), nothing elementwise. It is what published model-FLOPs utilisation counts
// (Narayanan et al., arXiv 2104.04473, appendix; Chowdhery et al., arXiv 2204.02311, appendix B).
[[nodiscard]] base::Flops model_flops(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);

// inputs, outputs: shapes of one shard. Sources and free reshapes give no kernel.
[[nodiscard]] std::vector<Kernel> forward_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                  std::span<const TensorShape> outputs, Precision p);
// Gradient of the activations. needed[i]: the gradient of input i is wanted (false for data, labels); weight slots are skipped, a weight
// elsewhere (a position table that is added) counts as an activation. Ask even if nothing is needed: the gradient of a fused activation
// comes first, and the weight gradient reads it. Adding up the gradients of a tensor with several readers is not counted here.
[[nodiscard]] std::vector<Kernel> input_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                         std::span<const TensorShape> outputs, const std::vector<bool>& needed,
                                                         Precision p);
[[nodiscard]] std::vector<Kernel> weight_gradient_kernels(const Operator& op, std::span<const TensorShape> inputs,
                                                          std::span<const TensorShape> outputs, Precision p);

// What the backward pass of an operator reads: whole inputs and outputs by position (a tensor that several operators keep is kept
// once), and bytes of its own (dropout masks at 1 B per element, softmax scores of unfused attention, norm statistics are left out:
// 4 B per row). Source of the counts for a transformer layer: Korthikanti et al., arXiv 2205.05198, section 4.1.
struct Saved {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
  base::Bytes own;
  base::Bytes own_attention;  // the part of `own` that selective recomputation frees (scores, their mask and dropped copy)
};
[[nodiscard]] Saved saved_for_backward(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs,
                                       Precision p);

}  // namespace pcg
