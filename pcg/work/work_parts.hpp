#pragma once
// Shared by forward and gradient kernels: counting, and the sizes of products and attentions. Private to pcg/work.

#include <span>
#include <string_view>
#include <vector>

#include "pcg/operators/head_dims.hpp"
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
  std::int64_t heads = 1, queries = 0, keys = 0;
  HeadDims dims;
  double query_elements = 0;   // of q
  double output_elements = 0;  // of the output
  double key_elements = 0;     // of k, over all keys that the shard meets
  double value_elements = 0;   // of v, likewise
  double own_keys = 1;         // share of these keys that the shard holds
  double scores = 0;           // samples * heads * queries * keys
  std::int64_t reach = 0;      // keys that a query may reach: all, or those of its window
  double met = 0;              // share of `reach` that the mean query meets: causal attention skips what it masks
};
[[nodiscard]] AttentionSizes sizes_of(const Attention& o, const Shard& p);
// Bytes of q, k and v as the shard meets them, and of sinks and the table of position biases.
[[nodiscard]] base::Bytes bytes_met(const Attention& o, const Shard& p);

// The kernel that computes `dims` numbers' worth of products for each score that is met: q.k is dims.query, scores.v is dims.value.
[[nodiscard]] Kernel flash_kernel(std::string_view name, const AttentionSizes& s, std::int64_t dims, base::Bytes bytes);
// Elements of queries and of keys, each normalised by a kernel of its own; none without qk_norm.
[[nodiscard]] std::vector<double> normalised_elements(const Attention& o, const AttentionSizes& s);
// Elements of queries and keys that positions rotate.
[[nodiscard]] double rotated_elements(const Attention& o, const AttentionSizes& s);
// How many copies there are of each key and value: as many as heads share them where they are repeated, else 1.
[[nodiscard]] double copies_of_keys(const Attention& o);
// Bytes of the shard's own keys and values, where latent attention lays them out, or the first copy of those that are repeated.
[[nodiscard]] base::Bytes bytes_joined(const Shard& p, const AttentionSizes& s);

// FLOPs per element of a function; exp, tanh and erf count as one.
[[nodiscard]] double flops_per_element(Unary::Kind kind);

// The kernels of a state space layer, of both passes, as state-spaces/mamba runs them (mamba_ssm/ops/triton/ssd_combined.py:
// mamba_split_conv1d_scan_combined): a convolution; inside of each chunk of positions the states that it adds, and its scores C B^T; from
// chunk to chunk a scan of the states; what states and scores give; a gate and a norm. The backward pass keeps what came in and what the
// scan gave, and computes the rest again.
[[nodiscard]] Kernels state_space_forward(const StateSpace& o, const Shard& p);
[[nodiscard]] Kernels state_space_gradient(const StateSpace& o, const Shard& p);

}  // namespace pcg::work
