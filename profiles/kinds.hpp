#pragma once
// Kinds of kernels and precisions by name, for readers of text forms.

#include <array>
#include <optional>
#include <string_view>

#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"

namespace profiles {

inline constexpr std::array kKernelKinds = {pcg::KernelKind::matmul,
                                            pcg::KernelKind::convolution,
                                            pcg::KernelKind::attention,
                                            pcg::KernelKind::softmax,
                                            pcg::KernelKind::norm,
                                            pcg::KernelKind::elementwise,
                                            pcg::KernelKind::embedding,
                                            pcg::KernelKind::pooling,
                                            pcg::KernelKind::reduction,
                                            pcg::KernelKind::copy,
                                            pcg::KernelKind::permutation,
                                            pcg::KernelKind::strided,
                                            pcg::KernelKind::loss,
                                            pcg::KernelKind::optimizer,
                                            pcg::KernelKind::scan,
                                            pcg::KernelKind::scan_gradient,
                                            pcg::KernelKind::attention_gradient};
inline constexpr std::array kPrecisions = {pcg::Precision::fp32, pcg::Precision::tf32,  pcg::Precision::fp16, pcg::Precision::bf16,
                                           pcg::Precision::fp8,  pcg::Precision::mxfp8, pcg::Precision::nvfp4};

[[nodiscard]] inline std::optional<pcg::KernelKind> find_kind(std::string_view name) {
  for (const auto k : kKernelKinds)
    if (pcg::to_text(k) == name) return k;
  return std::nullopt;
}
[[nodiscard]] inline std::optional<pcg::Precision> find_precision(std::string_view name) {
  for (const auto p : kPrecisions)
    if (pcg::to_text(p) == name) return p;
  return std::nullopt;
}

}  // namespace profiles
