#include "profiles/imports/traces/kernel_names.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <ranges>
#include <span>
#include <string>

#include "base/numbers.hpp"

namespace imports {
namespace {

using pcg::Precision;

constexpr ElementType kTypes[] = {
    {"fp32", 4, Precision::fp32, "float,float32,f32,fp32"},
    {"fp16", 2, Precision::fp16, "half,float16,f16,fp16,__half"},
    {"bf16", 2, Precision::bf16, "bfloat16,bf16,__nv_bfloat16"},
    {"fp8", 1, Precision::fp8, "float8_e4m3fn,float8_e5m2,float8_e4m3fnuz,float8_e5m2fnuz,f8e4m3,f8e5m2,fp8_e4m3,fp8_e5m2"},
    {"fp64", 8, std::nullopt, "double,float64,f64"},
    {"int8", 1, std::nullopt, "signed char,char,int8,int8_t,i8"},
    {"uint8", 1, std::nullopt, "unsigned char,byte,uint8,uint8_t,u8"},
    {"int16", 2, std::nullopt, "short,short int"},
    {"int32", 4, std::nullopt, "int,int32,int32_t"},
    {"uint32", 4, std::nullopt, "uint32,uint32_t"},
    {"int64", 8, std::nullopt, "long,long int,int64,int64_t"},
    {"uint64", 8, std::nullopt, "uint64,uint64_t"},
    {"bool", 1, std::nullopt, "bool"},
};

bool is_among(std::string_view word, std::string_view words, char between) {
  return std::ranges::any_of(std::views::split(words, between), [&](const auto& w) { return std::ranges::equal(w, word); });
}

using Dims = std::vector<std::int64_t>;
using pcg::Kernel;
using pcg::KernelKind;

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
  const bool counted = std::isfinite(k.flops.value()) && k.bytes.value() > 0 && k.bytes.value() < base::kLargestExactInteger;
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
  if (!(batch < base::kLargestExactInteger)) return std::nullopt;
  kernel.batch = static_cast<std::int64_t>(batch);
  kernel.bytes = base::Bytes(element * (2 * count(*q) + count(*k) + count(*v)));
  return sound(kernel);
}

// Without "aten::".
constexpr std::string_view kElementwise =
    "add add_ sub sub_ mul mul_ div div_ relu relu_ gelu silu silu_ sigmoid tanh neg exp sqrt rsqrt pow clamp_min clamp_min_ abs "
    "reciprocal leaky_relu gelu_backward silu_backward tanh_backward sigmoid_backward threshold_backward";

}  // namespace

const ElementType* element_type(std::string_view name) {
  for (const std::string_view space : {"c10::", "torch.", "at::"})
    if (name.starts_with(space)) name.remove_prefix(space.size());
  const std::string lower = lower_case(name);
  const auto* type = std::ranges::find_if(kTypes, [&](const ElementType& t) { return is_among(lower, t.spellings, ','); });
  return type == std::end(kTypes) ? nullptr : type;
}

std::optional<Kernel> operation_work(std::string_view op, const InputShapes& in) {
  for (const Dims& d : in.dims)
    if (std::ranges::any_of(d, [](std::int64_t size) { return size < 0; }) || count(d) > base::kLargestExactInteger) return std::nullopt;
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
  constexpr std::string_view kSpace = "aten::";
  return op.starts_with(kSpace) && is_among(op.substr(kSpace.size()), kElementwise, ' ') ? elementwise(in) : std::nullopt;
}

}  // namespace imports
