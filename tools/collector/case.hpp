#pragma once
// One thing to time: an operation, a precision and its sizes, with the FLOPs and bytes that the result file names. Standard library
// only: the collector is built on machines that have a CUDA toolkit and nothing else. Counts are those of pcg/work (tests/collector).

#include <cstdint>
#include <string_view>
#include <variant>

namespace collector {

enum class Precision { fp32, tf32, fp16, bf16, fp8 };
inline constexpr Precision kPrecisions[] = {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8};
[[nodiscard]] std::string_view to_text(Precision p);
// Returns the bytes of a stored number, as pcg::element_bytes counts: 4, 4, 2, 2, 2 (operands of an fp8 product are 1 B, what stays in
// memory is bf16).
[[nodiscard]] double element_bytes(Precision p);

enum class Operation {
  linear_forward,
  linear_input_gradient,
  linear_weight_gradient,
  batch_matmul_forward,
  attention_scores,
  attention_context,
  convolution_forward,
  convolution_input_gradient,
  convolution_weight_gradient,
  attention_softmax,
  softmax_forward,
  layer_norm_forward,
  rms_norm_forward,
  add,
  gelu,
  dropout,
  embedding,
  adam,
};
inline constexpr int kOperations = static_cast<int>(Operation::adam) + 1;
[[nodiscard]] std::string_view to_text(Operation o);  // "linear.forward": the kernel's name in pcg/work where it has one
[[nodiscard]] std::string_view kind_of(Operation o);  // "matmul": to_text of a pcg::KernelKind

// Sizes of the forward product C[m, n] = A[m, k] B[k, n], `batch` times; gradients permute these.
struct MatmulShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool operator==(const MatmulShape&) const = default;
};
// x[samples, channels, height, width] * w[out, channels / groups, kernel_h, kernel_w].
struct ConvolutionShape {
  std::int64_t samples = 1, channels = 1, height = 1, width = 1, out = 1;
  int kernel_h = 1, kernel_w = 1, stride = 1, pad_h = 0, pad_w = 0, groups = 1;
  [[nodiscard]] std::int64_t out_height() const { return (height + 2 * pad_h - kernel_h) / stride + 1; }
  [[nodiscard]] std::int64_t out_width() const { return (width + 2 * pad_w - kernel_w) / stride + 1; }
  bool operator==(const ConvolutionShape&) const = default;
};
// Norms and softmax along `width`; elementwise operations and Adam on rows * width numbers; embeddings of `rows` tokens.
struct RowsShape {
  std::int64_t rows = 1, width = 1;
  std::int64_t vocabulary = 0;  // of an embedding
  bool operator==(const RowsShape&) const = default;
};

struct Case {
  Operation operation = Operation::linear_forward;
  Precision precision = Precision::fp32;
  std::variant<MatmulShape, ConvolutionShape, RowsShape> shape;
  bool operator==(const Case&) const = default;
};

struct Work {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;  // of the product itself (implicit GEMM of a convolution); 0 where there is none
  double flops = 0;                             // 2 per multiply-add
  double bytes = 0;                             // each operand and result once
  double footprint = 0;                         // device memory that it occupies, B: `bytes`, and what is there but not touched (a table)
};
// Requires: the shape is of the operation's sort.
[[nodiscard]] Work work_of(const Case& c);

}  // namespace collector
