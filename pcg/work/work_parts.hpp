#pragma once
// What forward and gradient kernels share: counting, and the sizes of products and attentions. Private to pcg/work.

#include <span>
#include <string_view>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/work/kernel.hpp"

namespace pcg::work {

using Shapes = std::span<const TensorShape>;
using Kernels = std::vector<Kernel>;

// Everything one function needs to know about a shard.
struct Shard {
  Shapes in;
  Shapes out;
  Precision precision;

  [[nodiscard]] base::Bytes bytes_in(std::size_t i) const { return bytes_of(in[i], precision); }
  [[nodiscard]] base::Bytes bytes_out(std::size_t j = 0) const { return bytes_of(out[j], precision); }
  [[nodiscard]] base::Bytes bytes_of_inputs() const;
  [[nodiscard]] base::Bytes bytes_of_reals(double count) const { return element_bytes(Element::real, precision) * count; }
};

[[nodiscard]] inline double count(const TensorShape& s) { return static_cast<double>(s.elements()); }

// `batch` products C[m, n] = A[m, k] B[k, n].
[[nodiscard]] Kernel matmul(std::string_view name, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, base::Bytes bytes);
[[nodiscard]] Kernel simple(KernelKind kind, std::string_view name, double flops, base::Bytes bytes);

struct MatmulSizes {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};
[[nodiscard]] MatmulSizes sizes_of(const Linear& o, const Shard& p);
[[nodiscard]] MatmulSizes sizes_of(const BatchMatmul& o, const Shard& p);
[[nodiscard]] MatmulSizes sizes_of(const ExpertLinear& o, const Shard& p);
[[nodiscard]] MatmulSizes sizes_of(const Conv2d& o, const Shard& p);  // implicit GEMM: rows are output positions, batch is the groups

struct AttentionSizes {
  std::int64_t samples = 1;  // product of the dims before the sequence
  std::int64_t heads = 1, queries = 0, keys = 0, head_dim = 0;
  double query_elements = 0;  // of q, and of the output
  double key_elements = 0;    // of k, and of v
  double scores = 0;          // samples * heads * queries * keys
};
[[nodiscard]] AttentionSizes sizes_of(const Attention& o, const Shard& p);
// Of q, k and v as the shard meets them, and of the table of position biases.
[[nodiscard]] base::Bytes bytes_met(const Attention& o, const Shard& p);

// FLOPs per element of a function; exp, tanh and erf count as one.
[[nodiscard]] double flops_per_element(Unary::Kind kind);

}  // namespace pcg::work
