#pragma once
// The time of fused attention on a GPU, one pass of it: FlashAttention's and cuDNN's kernels give each block of threads some queries of one
// head, which it takes through the keys that they meet. For chips of which whole kernels of attention were measured in both passes;
// elsewhere attention is a product (profiles/models/product_model.hpp). Fitted by profiles/fit/attention_fit.

#include <array>
#include <string_view>

#include "pcg/work/kernel.hpp"

namespace profiles {

// All above 0.
struct AttentionModel {
  double peak_share = 0.7;  // of the tensor cores' peak
  double fixed_keys = 400;  // of each query: beginning and end of its block as a number of keys that take as long
  double score_dims = 30;   // of each score: its exponential and scaling as a number of dims of the products that take as long
  double launch_s = 5e-6;   // of each kernel
};
inline constexpr int kAttentionParameters = 4;
using AttentionParameters = std::array<double, kAttentionParameters>;
// Names as in profiles/devices, and values, both in the order of the members.
[[nodiscard]] const std::array<std::string_view, kAttentionParameters>& attention_parameter_names();
[[nodiscard]] AttentionParameters to_array(const AttentionModel& m);
[[nodiscard]] AttentionModel attention_model(const AttentionParameters& values);

// Returns seconds:  launch_s + 2 rows ((met + extra) (dims + score_dims)) / (peak peak_share)  with rows = batch m queries, dims the widths
// of the pass' products together, met the keys that a query meets on average (FLOPs / (2 rows dims)), and extra = fixed_keys and, where
// queries reach fewer keys than there are, the keys at the borders of the reach that a block of queries computes and masks. Requires:
// pcg::is_attention(k.kind) and profiles::is_product(k). peak: FLOP/s.
[[nodiscard]] double attention_seconds(const AttentionModel& m, double peak, const pcg::Kernel& k);

}  // namespace profiles
