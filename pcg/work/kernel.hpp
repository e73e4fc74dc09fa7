#pragma once
// One kernel, before any device is known: what it computes and what it reads and writes.

#include <cstdint>
#include <string_view>

#include "base/units.hpp"

namespace pcg {

enum class KernelKind {
  matmul,
  convolution,
  attention,
  softmax,
  norm,
  elementwise,
  embedding,
  pooling,
  reduction,
  copy,
  permutation,  // rows of tokens brought to their experts' order, or back
  strided,      // element by element, of what is broadcast, cut from a wider tensor or of several types: bound by its elements
  loss,
  optimizer,
  attention_gradient,
  scan,  // products of a state space layer, forward
  scan_gradient
};
[[nodiscard]] std::string_view to_text(KernelKind k);
// Fused attention of either pass. Measurements of the forward pass serve the backward pass where it has none.
[[nodiscard]] constexpr bool is_attention(KernelKind k) { return k == KernelKind::attention || k == KernelKind::attention_gradient; }

struct Kernel {
  KernelKind kind = KernelKind::elementwise;
  std::string_view name;                        // for traces: "linear.forward". Requires: the text lives as long as the program
  base::Flops flops;                            // 2 per multiply-add
  base::Bytes bytes;                            // read and written in device memory, each tensor once
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  // of a matmul, or of the matmul that a convolution or attention amounts to; else 1, 0, 0, 0
  bool tensor_cores = false;                    // it multiplies on tensor cores where the precision has them
  bool low_attention = false;                   // of attention: it multiplies in low precision, where linear layers do
  std::int64_t serial_launches = 1;             // the number of equal kernels, one after another, whose work together this is
  bool split_accumulation = false;  // of a product in low precision: its partial sums are added up in fp32, beside the tensor cores
  base::Bytes added;                // in addition to `bytes`: reads and writes of the buffer that a product adds to
  bool operator==(const Kernel&) const = default;
};

}  // namespace pcg
