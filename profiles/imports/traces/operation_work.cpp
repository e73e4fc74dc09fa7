#include "profiles/imports/traces/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace imports {
namespace {

using pcg::Precision;

constexpr std::array<ElementType, 14> kTypes{{
    {"fp32", 4, Precision::fp32},
    {"fp16", 2, Precision::fp16},
    {"bf16", 2, Precision::bf16},
    {"fp8", 1, Precision::fp8},
    {"fp64", 8, std::nullopt},
    {"int8", 1, std::nullopt},
    {"uint8", 1, std::nullopt},
    {"int16", 2, std::nullopt},
    {"int32", 4, std::nullopt},
    {"uint32", 4, std::nullopt},
    {"int64", 8, std::nullopt},
    {"uint64", 8, std::nullopt},
    {"bool", 1, std::nullopt},
    {"complex64", 8, std::nullopt},
}};

// Lower case, without the name space: how others spell them, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 47> kSpellings{{
    {"float", "fp32"},          {"float32", "fp32"},       {"f32", "fp32"},          {"fp32", "fp32"},           {"half", "fp16"},
    {"float16", "fp16"},        {"f16", "fp16"},           {"fp16", "fp16"},         {"__half", "fp16"},         {"bfloat16", "bf16"},
    {"bf16", "bf16"},           {"__nv_bfloat16", "bf16"}, {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8"},     {"float8_e4m3fnuz", "fp8"},
    {"float8_e5m2fnuz", "fp8"}, {"f8e4m3", "fp8"},         {"f8e5m2", "fp8"},        {"fp8_e4m3", "fp8"},        {"fp8_e5m2", "fp8"},
    {"double", "fp64"},         {"float64", "fp64"},       {"f64", "fp64"},          {"signed char", "int8"},    {"char", "int8"},
    {"int8", "int8"},           {"int8_t", "int8"},        {"i8", "int8"},           {"unsigned char", "uint8"}, {"byte", "uint8"},
    {"uint8", "uint8"},         {"uint8_t", "uint8"},      {"u8", "uint8"},          {"short", "int16"},         {"short int", "int16"},
    {"int", "int32"},           {"int32", "int32"},        {"int32_t", "int32"},     {"uint32", "uint32"},       {"uint32_t", "uint32"},
    {"long", "int64"},          {"long int", "int64"},     {"int64", "int64"},       {"int64_t", "int64"},       {"uint64", "uint64"},
    {"uint64_t", "uint64"},     {"bool", "bool"},
}};

using Dims = std::vector<std::int64_t>;
using pcg::Kernel;
using pcg::KernelKind;

constexpr double kMostElements = 9007199254740992.0;  // 2^53: beyond it a double does not count

double count(std::span<const std::int64_t> d) {
  return std::accumulate(d.begin(), d.end(), 1.0, [](double product, std::int64_t size) { return product * static_cast<double>(size); });
}

double bytes_of_element(const InputShapes& in, std::size_t i) {
  const ElementType* type = i < in.types.size() ? element_type(in.types[i]) : nullptr;
  return type != nullptr ? type->bytes : 0;
}

const Dims* dims_at(const InputShapes& in, std::size_t i, std::size_t rank) {
  return i < in.dims.size() && in.dims[i].size() == rank ? &in.dims[i] : nullptr;
}

std::optional<Kernel> sound(const Kernel& k) {
  const bool counted = std::isfinite(k.flops.value()) && k.bytes.value() > 0 && k.bytes.value() < kMostElements;
  return counted ? std::optional(k) : std::nullopt;
}

// The operands are inputs `a` and a + 1: [m, k] x [k, n], or with a batch in front.
std::optional<Kernel> matmul(const InputShapes& in, std::size_t a, bool batched) {
  const std::size_t rank = batched ? 3 : 2;
  const Dims *x = dims_at(in, a, rank), *y = dims_at(in, a + 1, rank);
  const double element = bytes_of_element(in, a);
  if (x == nullptr || y == nullptr || (*x)[rank - 1] != (*y)[rank - 2] || (batched && (*x)[0] != (*y)[0]) || element == 0)
    return std::nullopt;
  Kernel k{.kind = KernelKind::matmul, .m = (*x)[rank - 2], .n = (*y)[rank - 1], .k = (*x)[rank - 1], .tensor_cores = true};
  if (batched) k.batch = (*x)[0];
  const double out = static_cast<double>(k.batch) * static_cast<double>(k.m) * static_cast<double>(k.n);
  k.flops = base::Flops(2 * out * static_cast<double>(k.k));
  k.bytes = base::Bytes(element * (count(*x) + count(*y) + out));
  return sound(k);
}

// Reads and writes `count` tensors of input `i`'s size.
std::optional<Kernel> passes(KernelKind kind, const InputShapes& in, std::size_t i, double tensors, double flops_per_element) {
  const double element = bytes_of_element(in, i);
  if (i >= in.dims.size() || in.dims[i].empty() || element == 0) return std::nullopt;
  const double elements = count(in.dims[i]);
  return sound({.kind = kind, .flops = base::Flops(flops_per_element * elements), .bytes = base::Bytes(tensors * element * elements)});
}

// Every input is read; the result has the largest one's size (a broadcast) and its type.
std::optional<Kernel> elementwise(const InputShapes& in) {
  double read = 0, most = 0, most_bytes = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(in.dims.size(), 2); ++i) {
    if (in.dims[i].empty()) continue;
    const double elements = count(in.dims[i]), bytes = elements * bytes_of_element(in, i);
    if (bytes_of_element(in, i) == 0) return std::nullopt;
    read += bytes;
    if (elements > most) most = elements, most_bytes = bytes;
  }
  return sound({.kind = KernelKind::elementwise, .flops = base::Flops(most), .bytes = base::Bytes(read + most_bytes)});
}

// Rows of the table are read and written out, the indices are read.
std::optional<Kernel> embedding(const InputShapes& in) {
  const Dims* table = dims_at(in, 0, 2);
  if (table == nullptr || in.dims.size() < 2 || in.dims[1].empty()) return std::nullopt;
  const double rows = count(in.dims[1]), element = bytes_of_element(in, 0), index = bytes_of_element(in, 1);
  if (element == 0 || index == 0) return std::nullopt;
  return sound({.kind = KernelKind::embedding, .bytes = base::Bytes(rows * (2 * element * static_cast<double>((*table)[1]) + index))});
}

// q, k and v are [batch, heads, sequence, head dim], or with heads and sequence exchanged.
std::optional<Kernel> attention(const InputShapes& in, bool sequence_first) {
  const Dims *q = dims_at(in, 0, 4), *k = dims_at(in, 1, 4), *v = dims_at(in, 2, 4);
  const double element = bytes_of_element(in, 0);
  if (q == nullptr || k == nullptr || v == nullptr || element == 0 || (*q)[3] != (*k)[3]) return std::nullopt;
  const std::size_t sequence = sequence_first ? 1 : 2, heads = sequence_first ? 2 : 1;
  Kernel kernel{.kind = KernelKind::attention, .m = (*q)[sequence], .n = (*k)[sequence], .k = (*q)[3], .tensor_cores = true};
  const double batch = static_cast<double>((*q)[0]) * static_cast<double>((*q)[heads]);
  if (!(batch < kMostElements)) return std::nullopt;
  kernel.batch = static_cast<std::int64_t>(batch);
  kernel.bytes = base::Bytes(element * (2 * count(*q) + count(*k) + count(*v)));
  return sound(kernel);
}

constexpr std::string_view kElementwise[] = {"aten::add",
                                             "aten::add_",
                                             "aten::sub",
                                             "aten::sub_",
                                             "aten::mul",
                                             "aten::mul_",
                                             "aten::div",
                                             "aten::div_",
                                             "aten::relu",
                                             "aten::relu_",
                                             "aten::gelu",
                                             "aten::silu",
                                             "aten::silu_",
                                             "aten::sigmoid",
                                             "aten::tanh",
                                             "aten::neg",
                                             "aten::exp",
                                             "aten::sqrt",
                                             "aten::rsqrt",
                                             "aten::pow",
                                             "aten::clamp_min",
                                             "aten::clamp_min_",
                                             "aten::abs",
                                             "aten::reciprocal",
                                             "aten::leaky_relu",
                                             "aten::gelu_backward",
                                             "aten::silu_backward",
                                             "aten::tanh_backward",
                                             "aten::sigmoid_backward",
                                             "aten::threshold_backward"};

}  // namespace

const ElementType* element_type(std::string_view name) {
  for (const std::string_view space : {"c10::", "torch.", "at::"})
    if (name.starts_with(space)) name.remove_prefix(space.size());
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* spelling = std::ranges::find(kSpellings, std::string_view(lower), &std::pair<std::string_view, std::string_view>::first);
  if (spelling == kSpellings.end()) return nullptr;
  return std::ranges::find(kTypes, spelling->second, &ElementType::name);
}

std::optional<Kernel> operation_work(std::string_view op, const InputShapes& in) {
  for (const Dims& d : in.dims)
    if (std::ranges::any_of(d, [](std::int64_t size) { return size < 0; }) || count(d) > kMostElements) return std::nullopt;
  if (op == "aten::mm" || op == "aten::_scaled_mm") return matmul(in, 0, false);
  if (op == "aten::addmm" || op == "aten::addmm_" || op == "aten::_addmm_activation") return matmul(in, 1, false);
  if (op == "aten::bmm") return matmul(in, 0, true);
  if (op == "aten::baddbmm" || op == "aten::baddbmm_") return matmul(in, 1, true);
  if (op == "aten::_flash_attention_forward" || op == "aten::_efficient_attention_forward") return attention(in, true);
  if (op.starts_with("aten::_scaled_dot_product_") && op.ends_with("_attention")) return attention(in, false);
  if (op == "aten::_softmax" || op == "aten::_log_softmax") return passes(KernelKind::softmax, in, 0, 2, 5);
  if (op == "aten::_softmax_backward_data" || op == "aten::_log_softmax_backward_data") return passes(KernelKind::softmax, in, 0, 3, 4);
  if (op == "aten::native_layer_norm") return passes(KernelKind::norm, in, 0, 2, 7);
  if (op == "aten::native_layer_norm_backward") return passes(KernelKind::norm, in, 0, 3, 10);
  if (op == "aten::embedding") return embedding(in);
  if (op == "aten::copy_" && in.dims.size() >= 2 && in.dims[0] == in.dims[1]) {
    const auto read = passes(KernelKind::copy, in, 1, 1, 0), written = passes(KernelKind::copy, in, 0, 1, 0);
    if (!read || !written) return std::nullopt;
    return Kernel{.kind = KernelKind::copy, .bytes = read->bytes + written->bytes};
  }
  if (std::ranges::find(kElementwise, op) != std::end(kElementwise)) return elementwise(in);
  return std::nullopt;
}

}  // namespace imports
