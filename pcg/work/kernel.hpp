#pragma once
// One kernel, before any device is known: what it computes and what it reads and writes.

#include <cstdint>
#include <string_view>

#include "base/units.hpp"

namespace pcg {

enum class KernelKind { matmul, convolution, attention, softmax, norm, elementwise, embedding, pooling, reduction, copy, loss, optimizer };
[[nodiscard]] std::string_view to_text(KernelKind k);

struct Kernel {
  KernelKind kind = KernelKind::elementwise;
  std::string_view name;                        // for traces: "linear.forward". Requires: the text lives as long as the program
  base::Flops flops;                            // 2 per multiply-add
  base::Bytes bytes;                            // read and written in device memory, each tensor once
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  // of a matmul, or of the matmul that a convolution or attention amounts to; else 1, 0, 0, 0
  bool tensor_cores = false;                    // it multiplies on tensor cores where the precision has them
  bool operator==(const Kernel&) const = default;
};

}  // namespace pcg
