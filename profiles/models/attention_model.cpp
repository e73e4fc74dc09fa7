#include "profiles/models/attention_model.hpp"

#include <algorithm>

namespace profiles {
namespace {

// Queries of a block of threads: two tiles of 128, which FlashAttention-3, FlashAttention-4 and cuDNN keep in flight on Hopper and
// Blackwell.
constexpr double kQueriesOfBlock = 256;

// Products of one pass, each about as wide as the other: q k and scores v; backward the scores again, and the gradients of q, k, v and the
// scores.
double products_of(pcg::KernelKind kind) { return kind == pcg::KernelKind::attention ? 2 : 5; }

}  // namespace

const std::array<std::string_view, kAttentionParameters>& attention_parameter_names() {
  static constexpr std::array<std::string_view, kAttentionParameters> kNames = {"peak_share", "fixed_keys", "score_dims", "launch_s"};
  return kNames;
}

AttentionParameters to_array(const AttentionModel& m) { return {m.peak_share, m.fixed_keys, m.score_dims, m.launch_s}; }

AttentionModel attention_model(const AttentionParameters& v) { return {v[0], v[1], v[2], v[3]}; }

double attention_seconds(const AttentionModel& m, double peak, const pcg::Kernel& k) {
  const double rows = static_cast<double>(k.batch) * static_cast<double>(k.m);
  const double dims = products_of(k.kind) * static_cast<double>(k.k);
  const double met = k.flops.value() / (2 * rows * dims);
  const double border = kQueriesOfBlock * std::max(0.0, 1 - static_cast<double>(k.n) / static_cast<double>(k.m));
  return m.launch_s + 2 * rows * (met + m.fixed_keys + border) * (dims + m.score_dims) / (peak * m.peak_share);
}

}  // namespace profiles
