#include "profiles/imports/traces/kernel_names.hpp"

#include <algorithm>
#include <cctype>
#include <ranges>
#include <string>

namespace imports {
namespace {

using pcg::KernelKind;
using pcg::Precision;

template <class Kind>
struct WordsOf {
  Kind kind;
  std::string_view words;  // blanks between them
};

// The first word found decides, so the order matters: a fused attention kernel of CUTLASS is an attention, a rotary embedding is
// elementwise, a reduction that computes a norm is a reduction. Those of state space layers are Triton's of state-spaces/mamba, those that
// permute tokens Transformer Engine's.
constexpr WordsOf<KernelKind> kKernelWords[] = {
    {KernelKind::copy, "pooled_embs"},
    {KernelKind::elementwise, "causal_conv1d _chunk_cumsum_ _state_passing_"},
    {KernelKind::scan, "_chunk_scan_fwd _chunk_state_fwd _bmm_chunk_fwd"},
    {KernelKind::scan_gradient, "_chunk_scan_ _chunk_state_ _bmm_chunk_"},
    {KernelKind::permutation, "_permute_kernel _unpermute_ _sort_chunks_by_"},
    {KernelKind::elementwise, "rotary rope_"},
    {KernelKind::embedding, "embedding"},
    {KernelKind::attention, "flash fmha attention sdpa mha_"},
    {KernelKind::loss, "cross_entropy crossentropy mse_ _loss"},
    {KernelKind::softmax, "softmax"},
    {KernelKind::optimizer, "adam fusedoptimizer multi_tensor multitensor fused_sgd lamb_"},
    {KernelKind::matmul, "splitkreduce"},
    {KernelKind::reduction, "reduce_kernel reduce_1block devicereduce devicesegmentedreduce"},
    {KernelKind::norm,
     "layer_norm layernorm rms_norm rmsnorm batch_norm batchnorm group_norm groupnorm ::bn_ bn_fw bn_bw ln_fwd "
     "ln_bwd rowwisemoments gammabeta computegradinput compute_grad_input"},
    {KernelKind::copy, "nchwtonhwc nhwctonchw"},
    {KernelKind::convolution,
     "convolution conv1d conv2d conv3d conv_ _conv scudnn fprop dgrad wgrad winograd implicit_gemm im2col "
     "im2d2col fft2d"},
    {KernelKind::pooling, "pool"},
    {KernelKind::matmul, "gemm gemv cublas nvjet cijk_ matmul triton_tem cutlass"},
    {KernelKind::copy, "copy_kernel copy_device_to_device catarraybatchedcopy memcpy memset transpose"},
    {KernelKind::elementwise, "dropout elementwise pointwise triton_poi"},
    {KernelKind::reduction, "triton_red triton_per"},
    {KernelKind::elementwise, "gelu silu swiglu"},
};

constexpr WordsOf<KernelKind> kOperationWords[] = {
    {KernelKind::embedding, "embedding"},
    {KernelKind::attention, "attention"},
    {KernelKind::loss, "cross_entropy _loss"},
    {KernelKind::softmax, "softmax"},
    {KernelKind::norm, "_norm"},
    {KernelKind::convolution, "convolution"},
    {KernelKind::pooling, "pool"},
    {KernelKind::optimizer, "_foreach_ _fused_adam _fused_sgd"},
    {KernelKind::matmul, "aten::mm aten::bmm addmm baddbmm scaled_mm aten::linear"},
    {KernelKind::copy, "aten::copy_ aten::cat"},
    {KernelKind::reduction, "aten::sum aten::mean"},
};

// NVIDIA's matrix kernels name their operands ("f16f16_f32f32"), their instruction ("s1688" on TF32 or FP16 operands, "s884" on FP16,
// "h" with FP16 sums) or both; the operands decide.
constexpr WordsOf<Precision> kPrecisionWords[] = {
    {Precision::fp8, "e4m3 e5m2 fp8 qqtst"},
    {Precision::bf16, "bf16 bfloat16"},
    {Precision::tf32, "tf32"},
    {Precision::fp16, "fp16 f16f16 _f16_ __half half_t c10::half h16816 h1688 h884 s884 hgemm"},
    {Precision::tf32, "tensorop_s1688"},
    {Precision::fp32, "sgemm f32f32_f32 scudnn simt_s"},
};

// Without underscores, in lower case; alltoall before the words it holds none of, allgather before gather (which is not known).
constexpr WordsOf<profiles::CollectiveKind> kCollectiveWords[] = {
    {profiles::CollectiveKind::all_reduce, "allreduce"},         {profiles::CollectiveKind::all_gather, "allgather"},
    {profiles::CollectiveKind::reduce_scatter, "reducescatter"}, {profiles::CollectiveKind::all_to_all, "alltoall"},
    {profiles::CollectiveKind::broadcast, "broadcast"},
};

template <class Kind, std::size_t N>
std::optional<Kind> first_word(const std::string& text, const WordsOf<Kind> (&table)[N]) {
  for (const auto& [kind, words] : table)
    for (const auto word : std::views::split(words, ' '))
      if (text.find(std::string_view(word.begin(), word.end())) != std::string::npos) return kind;
  return std::nullopt;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

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
