#include "profiles/imports/traces/kernel_names.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace imports {
namespace {

using pcg::KernelKind;
using pcg::Precision;

template <class Kind>
using Word = std::pair<std::string_view, Kind>;

// The first word found decides, so the order matters: a fused attention kernel of CUTLASS is an attention, a rotary embedding is
// elementwise, a reduction that computes a norm is a reduction. Those of state space layers are Triton's of state-spaces/mamba, those that
// permute tokens Transformer Engine's.
constexpr Word<KernelKind> kKernelWords[] = {
    {"pooled_embs", KernelKind::copy},
    {"causal_conv1d", KernelKind::elementwise},
    {"_chunk_cumsum_", KernelKind::elementwise},
    {"_state_passing_", KernelKind::elementwise},
    {"_chunk_scan_fwd", KernelKind::scan},
    {"_chunk_state_fwd", KernelKind::scan},
    {"_bmm_chunk_fwd", KernelKind::scan},
    {"_chunk_scan_", KernelKind::scan_gradient},
    {"_chunk_state_", KernelKind::scan_gradient},
    {"_bmm_chunk_", KernelKind::scan_gradient},
    {"_permute_kernel", KernelKind::permutation},
    {"_unpermute_", KernelKind::permutation},
    {"_sort_chunks_by_", KernelKind::permutation},
    {"rotary", KernelKind::elementwise},
    {"rope_", KernelKind::elementwise},
    {"split_embedding", KernelKind::embedding},
    {"embedding", KernelKind::embedding},
    {"flash", KernelKind::attention},
    {"fmha", KernelKind::attention},
    {"attention", KernelKind::attention},
    {"sdpa", KernelKind::attention},
    {"mha_", KernelKind::attention},
    {"nll_loss", KernelKind::loss},
    {"cross_entropy", KernelKind::loss},
    {"crossentropy", KernelKind::loss},
    {"mse_", KernelKind::loss},
    {"_loss", KernelKind::loss},
    {"softmax", KernelKind::softmax},
    {"adam", KernelKind::optimizer},
    {"fusedoptimizer", KernelKind::optimizer},
    {"multi_tensor", KernelKind::optimizer},
    {"multitensor", KernelKind::optimizer},
    {"fused_sgd", KernelKind::optimizer},
    {"lamb_", KernelKind::optimizer},
    {"splitkreduce", KernelKind::matmul},
    {"reduce_kernel", KernelKind::reduction},
    {"reduce_1block", KernelKind::reduction},
    {"devicereduce", KernelKind::reduction},
    {"devicesegmentedreduce", KernelKind::reduction},
    {"layer_norm", KernelKind::norm},
    {"layernorm", KernelKind::norm},
    {"rms_norm", KernelKind::norm},
    {"rmsnorm", KernelKind::norm},
    {"batch_norm", KernelKind::norm},
    {"batchnorm", KernelKind::norm},
    {"group_norm", KernelKind::norm},
    {"groupnorm", KernelKind::norm},
    {"::bn_", KernelKind::norm},
    {"bn_fw", KernelKind::norm},
    {"bn_bw", KernelKind::norm},
    {"ln_fwd", KernelKind::norm},
    {"ln_bwd", KernelKind::norm},
    {"rowwisemoments", KernelKind::norm},
    {"gammabeta", KernelKind::norm},
    {"computegradinput", KernelKind::norm},
    {"compute_grad_input", KernelKind::norm},
    {"nchwtonhwc", KernelKind::copy},
    {"nhwctonchw", KernelKind::copy},
    {"convolution", KernelKind::convolution},
    {"conv1d", KernelKind::convolution},
    {"conv2d", KernelKind::convolution},
    {"conv3d", KernelKind::convolution},
    {"conv_", KernelKind::convolution},
    {"_conv", KernelKind::convolution},
    {"scudnn", KernelKind::convolution},
    {"fprop", KernelKind::convolution},
    {"dgrad", KernelKind::convolution},
    {"wgrad", KernelKind::convolution},
    {"winograd", KernelKind::convolution},
    {"implicit_gemm", KernelKind::convolution},
    {"im2col", KernelKind::convolution},
    {"im2d2col", KernelKind::convolution},
    {"fft2d", KernelKind::convolution},
    {"pool", KernelKind::pooling},
    {"gemm", KernelKind::matmul},
    {"gemv", KernelKind::matmul},
    {"cublas", KernelKind::matmul},
    {"nvjet", KernelKind::matmul},
    {"cijk_", KernelKind::matmul},
    {"matmul", KernelKind::matmul},
    {"triton_tem", KernelKind::matmul},
    {"cutlass", KernelKind::matmul},
    {"copy_kernel", KernelKind::copy},
    {"copy_device_to_device", KernelKind::copy},
    {"catarraybatchedcopy", KernelKind::copy},
    {"memcpy", KernelKind::copy},
    {"memset", KernelKind::copy},
    {"transpose", KernelKind::copy},
    {"dropout", KernelKind::elementwise},
    {"elementwise", KernelKind::elementwise},
    {"pointwise", KernelKind::elementwise},
    {"triton_poi", KernelKind::elementwise},
    {"triton_red", KernelKind::reduction},
    {"triton_per", KernelKind::reduction},
    {"gelu", KernelKind::elementwise},
    {"silu", KernelKind::elementwise},
    {"swiglu", KernelKind::elementwise},
};

constexpr Word<KernelKind> kOperationWords[] = {
    {"embedding", KernelKind::embedding},
    {"attention", KernelKind::attention},
    {"nll_loss", KernelKind::loss},
    {"cross_entropy", KernelKind::loss},
    {"_loss", KernelKind::loss},
    {"softmax", KernelKind::softmax},
    {"_norm", KernelKind::norm},
    {"convolution", KernelKind::convolution},
    {"pool", KernelKind::pooling},
    {"_foreach_", KernelKind::optimizer},
    {"_fused_adam", KernelKind::optimizer},
    {"_fused_sgd", KernelKind::optimizer},
    {"aten::mm", KernelKind::matmul},
    {"aten::bmm", KernelKind::matmul},
    {"addmm", KernelKind::matmul},
    {"baddbmm", KernelKind::matmul},
    {"scaled_mm", KernelKind::matmul},
    {"aten::linear", KernelKind::matmul},
    {"aten::copy_", KernelKind::copy},
    {"aten::cat", KernelKind::copy},
    {"aten::sum", KernelKind::reduction},
    {"aten::mean", KernelKind::reduction},
};

// NVIDIA's matrix kernels name their operands ("f16f16_f32f32"), their instruction ("s1688" on TF32 or FP16 operands, "s884" on FP16,
// "h" with FP16 sums) or both; the operands decide.
constexpr Word<Precision> kPrecisionWords[] = {
    {"e4m3", Precision::fp8},
    {"e5m2", Precision::fp8},
    {"fp8", Precision::fp8},
    {"qqtst", Precision::fp8},
    {"bf16", Precision::bf16},
    {"bfloat16", Precision::bf16},
    {"tf32", Precision::tf32},
    {"fp16", Precision::fp16},
    {"f16f16", Precision::fp16},
    {"_f16_", Precision::fp16},
    {"__half", Precision::fp16},
    {"half_t", Precision::fp16},
    {"c10::half", Precision::fp16},
    {"h16816", Precision::fp16},
    {"h1688", Precision::fp16},
    {"h884", Precision::fp16},
    {"s884", Precision::fp16},
    {"hgemm", Precision::fp16},
    {"s1688gemm_fp16", Precision::fp16},
    {"tensorop_s1688", Precision::tf32},
    {"sgemm", Precision::fp32},
    {"f32f32_f32", Precision::fp32},
    {"scudnn", Precision::fp32},
    {"simt_s", Precision::fp32},
};

// Without underscores, in lower case; alltoall before the words it holds none of, allgather before gather (which is not known).
constexpr Word<profiles::CollectiveKind> kCollectiveWords[] = {
    {"allreduce", profiles::CollectiveKind::all_reduce},         {"allgather", profiles::CollectiveKind::all_gather},
    {"reducescatter", profiles::CollectiveKind::reduce_scatter}, {"alltoall", profiles::CollectiveKind::all_to_all},
    {"broadcast", profiles::CollectiveKind::broadcast},
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <class Kind, std::size_t N>
std::optional<Kind> first_word(const std::string& text, const Word<Kind> (&words)[N]) {
  const auto* found = std::ranges::find_if(words, [&](const Word<Kind>& w) { return text.find(w.first) != std::string::npos; });
  if (found == std::end(words)) return std::nullopt;
  return found->second;
}

}  // namespace

// FBGEMM is a library of embedding and index kernels too: its name says nothing of a matrix product.
std::optional<KernelKind> kernel_kind(std::string_view name) {
  std::string lower = lower_case(name);
  constexpr std::string_view kLibrary = "fbgemm";
  for (std::size_t at = lower.find(kLibrary); at != std::string::npos; at = lower.find(kLibrary, at)) lower.erase(at, kLibrary.size());
  return first_word(lower, kKernelWords);
}
std::optional<KernelKind> operation_kind(std::string_view name) { return first_word(lower_case(name), kOperationWords); }
std::optional<Precision> kernel_precision(std::string_view name) { return first_word(lower_case(name), kPrecisionWords); }

bool is_collective_kernel(std::string_view name) {
  const std::string lower = lower_case(name.substr(0, 64));
  return lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos;
}

std::optional<profiles::CollectiveKind> collective_in(std::string_view name) {
  std::string bare = lower_case(name.substr(0, name.find('(')));
  std::erase(bare, '_');
  if (const auto kind = first_word(bare, kCollectiveWords)) return kind;
  if (bare == "send" || bare == "recv" || bare == "nccl:send" || bare == "nccl:recv" || bare.starts_with("nccl:send ") ||
      bare.starts_with("nccl:recv "))
    return profiles::CollectiveKind::send;
  return std::nullopt;
}

}  // namespace imports
